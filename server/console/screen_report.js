// SPDX-License-Identifier: Apache-2.0
// A range of dates on one page, to print: how much was allowed and refused, where, why, for whom.
import { all } from "./api.js";
import { asked, tally } from "./asked.js";
import { cut, field, form, h, table } from "./dom.js";
import { count, moment, time } from "./format.js";
import { write } from "./fragment.js";
import { reasons, sentence } from "./reasons.js";

export const title = "Report";
const MOST = 10000; // decisions that one report counts
const SHOWN = 10;

function counted(caption, name, items, keysOf, cell = (row) => row.key || "(none)") {
  const rows = tally(items, keysOf);
  const columns = [
    { title: "Refused", cell: (row) => count(row.number) },
    { title: name, cell },
  ];
  return h("div", {}, table(caption, columns, rows.slice(0, SHOWN)), cut(rows.length - SHOWN));
}

export async function show(body, state, { current }) {
  const since = moment(state.since ?? "30d", Date.now());
  const until = moment(state.until ?? "0m", Date.now());
  body.append(
    form(
      (entered) => {
        location.hash = write("report", entered);
      },
      field("Since (30d, a date)", "since", state.since ?? "30d"),
      field("Until", "until", state.until),
      h("button", { type: "submit", class: "main" }, "Show"),
      h("button", { type: "button", on: { click: () => window.print() } }, "Print"),
    ),
  );
  if (!since || !until) throw new Error("a time looks like 30d, 2h, 2026-11-29 or 2026-11-29T12:00:00Z");
  const wait = h("p", { role: "status" }, "Counting\u2026");
  body.append(wait);
  const [{ items, more }, known] = await Promise.all([
    all("/v1/decisions", { since, until, request: true }, MOST, (number) => {
      wait.textContent = `${count(number)} decisions\u2026`;
    }),
    reasons(),
  ]);
  if (!current()) return;
  const refused = items.filter((one) => one.verdict === "deny").map(asked);
  const allowed = items.length - refused.length;
  wait.textContent =
    `${time(since)} to ${time(until)}: ${count(items.length)} decisions, ${count(allowed)} allowed, ` +
    `${count(refused.length)} refused.` +
    (more ? ` Only the newest ${count(MOST)} are counted.` : "");
  const days = tally(items, (one) => [one.evaluated_at.slice(0, 10)]).sort((a, b) => (a.key < b.key ? -1 : 1));
  const refusals = new Map(tally(refused, (one) => [one.time.slice(0, 10)]).map((row) => [row.key, row.number]));
  body.append(
    h("h2", {}, "Why"),
    counted(
      "Reasons",
      "Reason",
      refused,
      (row) => row.reasons,
      (row) => sentence(known, [row.key]),
    ),
    h("h2", {}, "Where"),
    counted("Namespaces", "Namespace", refused, (row) => [row.pod.split("/")[0]]),
    counted("Clusters", "Cluster", refused, (row) => [row.cluster]),
    h("h2", {}, "Who asked"),
    counted("Users", "User", refused, (row) => [row.user]),
    h("h2", {}, "When"),
    table(
      "Days (UTC)",
      [
        { title: "Day", cell: (row) => row.key },
        { title: "Decisions", cell: (row) => count(row.number) },
        { title: "Refused", cell: (row) => count(refusals.get(row.key) ?? 0) },
      ],
      days,
    ),
  );
}
