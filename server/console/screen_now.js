// SPDX-License-Identifier: Apache-2.0
// Now: is the installation healthy, what ends next, what is allowed and refused, by which nodes.
import { all, get, getText } from "./api.js";
import { hours, tally } from "./asked.js";
import { badge, cut, h, link, part, svg, table, when } from "./dom.js";
import { endings, urgency } from "./ends.js";
import { count, relative, time } from "./format.js";
import { reasons, sentence } from "./reasons.js";

export const title = "Now";
const DAY = 86400000;
const ENDS = 15; // rows of what ends
const REASONS = 8;
const MOST = 1000; // decisions that the picture of a day counts

// What a role may not read is left out, not a failure of the whole.
const unless = (call, fallback) =>
  call.catch((error) => {
    if (error.code === "forbidden") return fallback;
    throw error;
  });

async function health() {
  const since = new Date(Date.now() - DAY).toISOString();
  const day = (verdict) => unless(get("/v1/decisions", { verdict, since, limit: 1, total: true }), null);
  const [ready, log, allowed, refused] = await Promise.all([
    getText("/readyz").then(
      () => null,
      (error) => error,
    ),
    unless(get("/v1/log/checkpoint"), null),
    day("allow"),
    day("deny"),
  ]);
  const total = (page) =>
    !page ? "?" : page.total !== undefined ? count(page.total) : `${count(page.total_at_least)} or more`;
  const card = (name, value, kind, note) =>
    h("li", {}, name, h("strong", {}, kind ? badge(value, kind) : value), h("span", { class: "faint" }, note));
  return h(
    "ul",
    { class: "cards" },
    card(
      "Service",
      ready ? "not ready" : "ready",
      ready ? "bad" : "good",
      ready ? ready.message : "store, clock and keys work",
    ),
    log ? card("Log", `${count(log.tree_size)} records`, "", log.origin) : null,
    card("Allowed", total(allowed), "", "in the last 24 hours"),
    card("Refused", total(refused), "", "in the last 24 hours"),
  );
}

async function ends() {
  const now = Date.now();
  const [trust, nodes, collateral, metrics] = await Promise.all([
    unless(get("/v1/trust"), null),
    unless(all("/v1/nodes", {}, 1000), { items: [] }),
    unless(all("/v1/collateral", {}, 1000), { items: [] }),
    unless(getText("/metrics"), ""),
  ]);
  const rows = endings({ trust, nodes: nodes.items, collateral: collateral.items, metrics, now });
  const past = rows.filter((row) => new Date(row.at) <= now).reverse();
  const next = rows.slice(past.length);
  const missing = [trust ? "" : "keys", trust?.principals ? "" : "principals", metrics ? "" : "TLS certificate"].filter(
    Boolean,
  );
  const columns = [
    { title: "When", cell: (row) => [badge(relative(row.at, now), urgency(row.at, now)), " ", when(row.at)] },
    { title: "What", cell: (row) => row.what },
    { title: "Of", cell: (row) => row.name },
  ];
  return [
    // What ended stays here until somebody takes it away: it must not fill the list of what ends.
    past.length ? [table("What has ended", columns, past.slice(0, ENDS)), cut(past.length - ENDS)] : null,
    table("What ends next", columns, next.slice(0, ENDS)),
    cut(next.length - ENDS, nodes.more || collateral.more),
    missing.length
      ? h("p", { class: "faint" }, `Left out, because your roles do not show them: ${missing.join(", ")}.`)
      : null,
  ];
}

function chart(rows) {
  const most = Math.max(1, ...rows.map((row) => row.allow + row.deny));
  const bars = rows.flatMap((row, i) => {
    const [allow, deny] = [row.allow, row.deny].map((number) => (100 * number) / most);
    return [
      svg("rect", { class: "axis", x: i * 20, y: 100, width: 17, height: 1 }),
      svg("rect", { class: "allow", x: i * 20, y: 100 - allow, width: 17, height: allow }),
      svg("rect", { class: "deny", x: i * 20, y: 100 - allow - deny, width: 17, height: deny }),
    ];
  });
  const sums = ["allow", "deny"].map((verdict) => rows.reduce((sum, row) => sum + row[verdict], 0));
  return svg(
    "svg",
    {
      class: "chart",
      viewBox: `0 0 ${rows.length * 20} 102`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `Decisions by hour: ${sums[0]} allowed, ${sums[1]} refused`,
    },
    bars,
  );
}

async function day() {
  const now = Date.now();
  const since = new Date(now - DAY).toISOString();
  const [{ items, more }, known] = await Promise.all([all("/v1/decisions", { since }, MOST), reasons()]);
  const rows = hours(items, now);
  const top = tally(
    items.filter((one) => one.verdict === "deny"),
    (one) => one.reasons,
  );
  const columns = [
    { title: "Hour", cell: (row) => time(row.start.toISOString()).slice(0, 16) },
    { title: "Allowed", cell: (row) => count(row.allow) },
    { title: "Refused", cell: (row) => count(row.deny) },
  ];
  return [
    h(
      "p",
      { class: "faint" },
      badge("allowed", "good"),
      " ",
      badge("refused", "bad"),
      more ? ` The newest ${count(items.length)} decisions of the day are counted.` : "",
    ),
    chart(rows),
    h("details", {}, h("summary", {}, "As a table"), table("Decisions by hour", columns, rows)),
    h("h3", {}, "Top reasons"),
    table(
      "Reasons of refusals",
      [
        { title: "Refused", cell: (row) => link("refused", { reason: row.key, since: "1d" }, count(row.number)) },
        { title: "Why", cell: (row) => sentence(known, [row.key]) },
      ],
      top.slice(0, REASONS),
      "nothing was refused.",
    ),
    cut(top.length - REASONS),
  ];
}

async function nodes() {
  const { items, more } = await all("/v1/nodes", {}, 1000);
  const kinds = { enrolled: "good", violated: "bad", revoked: "bad" };
  const now = Date.now();
  return [
    table(
      "Nodes",
      [
        { title: "Node", cell: (node) => node.node },
        { title: "State", cell: (node) => badge(node.state, kinds[node.state] ?? "warn") },
        {
          title: "Evidence",
          cell: (node) => (node.worker_measured ? `measured, ${node.measured.tcb_status}` : "none that counts"),
        },
        {
          title: "Models in memory",
          cell: (node) =>
            tally(node.instances, (one) => [one.state])
              .map((one) => `${one.number} ${one.key}`)
              .join(", "),
        },
        { title: "Heard", cell: (node) => (node.heard_at ? relative(node.heard_at, now) : "never") },
        { title: "Enrolled until", cell: (node) => when(node.expires_at) },
      ],
      items,
      "no node is enrolled.",
    ),
    more ? h("p", { class: "faint" }, "These are the first 1,000.") : null,
  ];
}

export async function show(body, state, { every }) {
  const parts = [
    part("Health", health),
    part("Allowed and refused, by hour", day),
    part("What ends next", ends),
    part("Nodes", nodes),
  ];
  const [fast, picture, slow, list] = parts;
  body.append(...parts.map((one) => one.element));
  await Promise.all(parts.map((one) => one.load()));
  every(5, fast.load);
  every(5, list.load);
  every(60, picture.load);
  every(60, slow.load);
}
