// SPDX-License-Identifier: Apache-2.0
// Refused: requests that were turned down, which is another thing than what runs. The service filters.
import { all, get } from "./api.js";
import { asked } from "./asked.js";
import { csv } from "./csv.js";
import { badge, button, choice, failure, field, form, h, id, link, named, save, say, table, when } from "./dom.js";
import { count, list, moment } from "./format.js";
import { write } from "./fragment.js";
import { reasons, sentence } from "./reasons.js";

export const title = "Refused requests";
const PAGE = 100;
const MOST_ROWS = 10000; // of one CSV file
const MOST_EMPTY = 20; // pages without a row that are passed over: the service reads 1,000 decisions for each

// Once for a screen: a page further back must ask with the very times of the first.
function query(state) {
  const times = {};
  for (const key of ["since", "until"]) {
    if (!state[key]) continue;
    times[key] = moment(state[key], Date.now());
    if (!times[key]) throw new Error(`"${state[key]}" is no time: 1d, 2h, 30m, 2026-11-29 or 2026-11-29T12:00:00Z`);
  }
  const { namespace, reason, pod, user, cluster, model = "" } = state;
  return {
    ...{ namespace, reason, pod, user, cluster },
    [model.startsWith("assay-tree-") ? "subject" : "model"]: model,
    ...times,
    verdict: state.verdict === "any" ? "" : (state.verdict ?? "deny"),
    request: true,
  };
}

function filters(state, known) {
  const codes = Object.keys(known)
    .sort()
    .map((code) => [code, `${code}: ${known[code].title}`]);
  return form(
    (entered) => {
      location.hash = write("refused", entered);
    },
    field("Namespace", "namespace", state.namespace),
    choice("Reason", "reason", state.reason, [["", "every reason"], ...codes]),
    field("Pod (llm-: all that begin so)", "pod", state.pod),
    field("User", "user", state.user),
    field("Cluster", "cluster", state.cluster),
    field("Model (name or artifact id)", "model", state.model),
    field("Since (1d, 2h, a date)", "since", state.since),
    field("Until", "until", state.until),
    choice("Verdict", "verdict", state.verdict, [
      ["", "refused"],
      ["allow", "allowed"],
      ["any", "both"],
    ]),
    h("button", { type: "submit", class: "main" }, "Filter"),
  );
}

const columns = (known) => [
  { title: "Time", cell: (row) => when(row.time), csv: (row) => row.time },
  { title: "Namespace and pod", cell: (row) => named(row.pod), csv: (row) => row.pod },
  { title: "User", cell: (row) => named(row.user), csv: (row) => row.user },
  { title: "Cluster", cell: (row) => named(row.cluster), csv: (row) => row.cluster },
  {
    title: "Model",
    csv: (row) => row.artifacts.join(" "),
    cell: (row) =>
      row.models.map((name, i) => [
        i ? ", " : "",
        link("model", row.artifacts[i] ? { artifact: row.artifacts[i] } : { name }, id(name)),
      ]),
  },
  {
    title: "Reason",
    csv: (row) => row.reasons.join(" "),
    cell: (row) => (row.verdict === "allow" ? badge("allowed", "good") : sentence(known, row.reasons)),
  },
  { title: "Decision", cell: (row) => link("decision", { id: row.id }, "why"), csv: (row) => row.id },
];

export const rowsOf = (items) => items.map((item) => ({ ...asked(item), verdict: item.verdict }));

async function saveAll(wanted, known, place) {
  try {
    const { items, more } = await all("/v1/decisions", wanted, MOST_ROWS, (number) => say(`${number} rows`));
    const rows = rowsOf(items);
    const kinds = columns(known);
    save(
      "refused.csv",
      csv(
        kinds.map((one) => one.title),
        rows.map((row) => kinds.map((one) => one.csv(row))),
      ),
      "text/csv",
    );
    say(
      `Saved ${rows.length} rows.` +
        (more ? ` Older ones are left out: one file has at most ${count(MOST_ROWS)}.` : ""),
    );
    place.replaceChildren(
      more
        ? `The file ends after ${count(MOST_ROWS)} rows; filter by time for the rest.`
        : `Saved ${count(rows.length)} rows.`,
    );
  } catch (error) {
    place.replaceChildren(failure(error));
  }
}

export async function show(body, state, { every, current }) {
  const known = await reasons();
  const content = h("div", {});
  const note = h("p", { class: "faint", role: "status" });
  const news = h("p", { role: "status" });
  const total = h("span", { class: "faint" });
  const cursors = [""];
  let newest = null;
  body.append(
    h(
      "p",
      { class: "lead" },
      "What was asked for and turned down. A pod here may have been changed and admitted since; ",
      link("running", {}, "Running"),
      " shows the pods that are there now.",
    ),
    filters(state, known),
    news,
    content,
    note,
  );
  const wanted = query(state);

  const load = async () => {
    let page;
    try {
      page = await get("/v1/decisions", { ...wanted, limit: PAGE, cursor: cursors.at(-1) });
      for (let i = 0; i < MOST_EMPTY && page.items.length === 0 && page.next_cursor && current(); i++) {
        page = await get("/v1/decisions", { ...wanted, limit: PAGE, cursor: page.next_cursor });
      }
    } catch (error) {
      content.replaceChildren(failure(error));
      return;
    }
    if (!current()) return;
    if (cursors.length === 1) newest = page.items[0]?.log_index ?? -1;
    const turn = (change) => async () => {
      change();
      await load();
      content.querySelector(".scroll")?.focus();
    };
    const next = button(
      "Older",
      turn(() => cursors.push(page.next_cursor)),
    );
    const back = button(
      "Newer",
      turn(() => cursors.pop()),
    );
    next.disabled = !page.next_cursor;
    back.disabled = cursors.length === 1;
    content.replaceChildren(
      table("Refused requests", columns(known), rowsOf(page.items), "no request matches on this page."),
      h(
        "div",
        { class: "row" },
        back,
        next,
        h("span", { class: "faint" }, `Page ${cursors.length}`),
        total,
        button("Save as CSV", () => saveAll(wanted, known, note)),
        link("report", { since: state.since ?? "30d", until: state.until }, "One-page report"),
      ),
    );
    news.replaceChildren();
    if (!total.hasChildNodes()) countAll();
  };
  // Apart from the page, which need not wait for it: counting takes longer than the first 100 rows.
  const countAll = async () => {
    const page = await get("/v1/decisions", { ...wanted, request: "", limit: 1, total: true }).catch(() => null);
    // How many are of a pod, user, cluster or name is not known: no index has them.
    if (page?.total !== undefined || page?.total_at_least)
      total.textContent = `${count(page.total ?? page.total_at_least)}${page.total === undefined ? " or more" : ""} in all`;
  };
  // A table that moves while somebody reads it helps nobody: newer rows wait for a press.
  const look = async () => {
    if (cursors.length !== 1 || newest === null) return;
    const page = await get("/v1/decisions", { ...wanted, request: "", limit: 1 }).catch(() => null);
    if (page?.items[0] && page.items[0].log_index > newest && news.childElementCount === 0) {
      news.replaceChildren(button("There are newer ones: show them", load, "main"));
    }
  };
  await load();
  every(5, look);
}
