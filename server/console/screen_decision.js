// SPDX-License-Identifier: Apache-2.0
// One decision: what was asked, what each condition wanted and found, and what to do about it.
import { get } from "./api.js";
import { asked } from "./asked.js";
import { badge, field, form, h, id, json, link, table, when } from "./dom.js";
import { write } from "./fragment.js";
import { reasons } from "./reasons.js";

export const title = "Decision";
const KINDS = { pass: "good", fail: "bad", error: "bad", deferred: "plain" };

const short = (value) =>
  value === null || value === undefined
    ? ""
    : typeof value === "object"
      ? h("details", {}, h("summary", {}, "show"), json(value))
      : String(value);

// Parts of a combined condition stand below it, by its name.
const flat = (conditions, above = "") =>
  conditions.flatMap((one) => [{ ...one, path: above + one.id }, ...flat(one.parts ?? [], `${above}${one.id} > `)]);

const conditionTable = (caption, conditions, known) =>
  table(
    caption,
    [
      { title: "Result", cell: (one) => badge(one.outcome, KINDS[one.outcome] ?? "plain") },
      { title: "Condition", cell: (one) => one.path },
      { title: "Why", cell: (one) => (one.code ? [known[one.code]?.title ?? "", " ", h("code", {}, one.code)] : "") },
      { title: "Wanted", cell: (one) => short(one.expected) },
      { title: "Found", cell: (one) => short(one.actual) },
      {
        title: "Statements looked at",
        cell: (one) => [
          String(one.evidence?.count ?? 0),
          " ",
          (one.evidence?.first ?? []).slice(0, 3).map((statement) => [id(statement), " "]),
        ],
      },
    ],
    flat(conditions),
  );

export function verdictOf(decision, known) {
  const allowed = decision.verdict.allowed;
  const codes = decision.verdict.reasons;
  const list = codes.map((code) =>
    h(
      "li",
      {},
      h("code", {}, code),
      ": ",
      known[code]?.title ?? "",
      ". ",
      h("span", { class: "faint" }, known[code]?.next ?? ""),
    ),
  );
  return [
    h(
      "p",
      {},
      badge(allowed ? "allowed" : "refused", allowed ? "good" : "bad"),
      " at ",
      decision.point,
      ", ",
      when(decision.evaluated_at),
      decision.verdict.valid_until ? [". It may change by itself at ", when(decision.verdict.valid_until), "."] : "",
    ),
    codes.length ? h("ul", {}, list) : null,
    decision.verdict.warnings.length
      ? h(
          "ul",
          {},
          decision.verdict.warnings.map((text) => h("li", {}, badge("warning", "warn"), " ", text)),
        )
      : null,
  ];
}

export const whoAsked = (decision) => {
  const row = asked({ ...decision, reasons: [] });
  const facts = [
    ["Pod", row.pod],
    ["Kind", row.kind],
    ["User", row.user],
    ["Cluster", row.cluster],
  ].filter(([, text]) => text);
  return h(
    "dl",
    {},
    facts.map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]),
    decision.models.map((model) => [
      h("dt", {}, "Model"),
      h("dd", {}, link("model", { artifact: model.artifact }, model.name ?? "", " ", id(model.artifact))),
    ]),
    h("dt", {}, "Decision"),
    h("dd", {}, h("code", {}, decision.id)),
  );
};

export const conditions = (decision, known) => [
  conditionTable("Before any policy", decision.verdict.preconditions ?? [], known),
  (decision.verdict.policies ?? []).map((policy) =>
    conditionTable(
      `${policy.name} version ${policy.version}, ${policy.mode}: ${policy.outcome}`,
      policy.conditions,
      known,
    ),
  ),
];

export async function show(body, state) {
  if (!state.id) {
    body.append(
      form(
        (entered) => {
          location.hash = write("decision", entered);
        },
        field("Decision id", "id", ""),
        h("button", { type: "submit", class: "main" }, "Show"),
      ),
    );
    return;
  }
  const [decision, known] = await Promise.all([get(`/v1/decisions/${encodeURIComponent(state.id)}`), reasons()]);
  body.append(
    ...[verdictOf(decision, known), whoAsked(decision)].flat(Infinity).filter(Boolean),
    h("p", {}, link("proof", { decision: decision.id }, "Prove it")),
    h("h2", {}, "Conditions"),
    ...conditions(decision, known).flat(Infinity),
    h("details", {}, h("summary", {}, "The request as it was stored"), json(decision.request)),
  );
}
