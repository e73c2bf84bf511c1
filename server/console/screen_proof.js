// SPDX-License-Identifier: Apache-2.0
// Proof: what was wanted, what was found, who said so, and the steps that show it is what was logged.
import { all, get, getText } from "./api.js";
import { badge, button, field, form, h, json, save } from "./dom.js";
import { write } from "./fragment.js";
import { consistencySteps, decisionSteps, logSteps, publishedKeys, runSteps } from "./proving.js";
import { reasons } from "./reasons.js";
import { conditions, verdictOf, whoAsked } from "./screen_decision.js";

export const title = "Proof";
const WORDS = { good: "holds", bad: "does not hold", skipped: "not checked" };
// What the user brought stays while the page is open, in memory alone.
const brought = { key: "", older: "" };

// The list knows the record of a decision, which is written soon after it was evaluated.
async function indexOf(decision) {
  const until = new Date(new Date(decision.evaluated_at).getTime() + 60000).toISOString();
  const range = { since: decision.evaluated_at, until, order: "oldest" };
  const { items } = await all("/v1/decisions", range, 10000);
  const row = items.find((one) => one.id === decision.id);
  if (!row) throw new Error("the service does not list the record of this decision");
  return row.log_index;
}

function exported(decision, found) {
  const text = (bytes) => (bytes ? new TextDecoder().decode(bytes) : undefined);
  return JSON.stringify(
    {
      what: "what the console of Assay checked; assay decision export writes what assay verify takes",
      decision,
      envelope: text(found.bytes),
      record: text(found.record),
      inclusion: found.inclusion,
      checkpoint: found.note,
    },
    null,
    2,
  );
}

async function prove(state, decision, place) {
  const found = {};
  const list = h("ol", { class: "steps" });
  const show = (name, result, text) =>
    list.append(
      h(
        "li",
        {},
        badge(WORDS[result], result === "skipped" ? "plain" : result),
        " ",
        h("strong", {}, name),
        ": ",
        text,
      ),
    );
  place.replaceChildren(list);
  const index = decision ? await indexOf(decision) : Number(state.index);
  const keys = decision ? await publishedKeys(await get("/.well-known/jwks.json")) : [];
  const steps = [
    ...logSteps(found, { verifierKey: brought.key, index }),
    ...(decision ? decisionSteps(found, decision, keys) : []),
    ...(brought.older ? consistencySteps(found, brought.older) : []),
  ];
  const holds = await runSteps(steps, show);
  place.append(
    h(
      "p",
      { role: "status" },
      badge(holds ? "every step holds" : "not proven", holds ? "good" : "bad"),
      holds && !brought.older
        ? " Without an older checkpoint of yours, nothing says that the log was never rewritten before."
        : "",
    ),
  );
  if (found.event && !decision) place.append(h("h2", {}, "The record"), json(found.event));
  if (found.note) {
    place.append(
      h(
        "div",
        { class: "row" },
        decision &&
          button("Save for assay verify", async () => {
            const file = await getText(`/v1/decisions/${encodeURIComponent(decision.id)}/export`);
            save(`decision-${decision.id}.export`, file, "application/json");
          }),
        button("Save what was checked", () =>
          save(`proof-${index}.json`, exported(decision, found), "application/json"),
        ),
        button("Save the checkpoint", () =>
          save(`checkpoint-${found.checkpoint?.size ?? "unverified"}.txt`, found.note, "text/plain"),
        ),
      ),
    );
  }
}

export async function show(body, state) {
  body.append(
    h(
      "p",
      { class: "lead" },
      "The code of this page comes from the server that it checks. It finds damage and mistakes, " +
        "and shows an honest server's work. Against a hostile server use the command line with a log key that " +
        "you were given elsewhere: ",
      h("code", {}, "assay decision export"),
      ", then ",
      h("code", {}, "assay verify FILE"),
      ".",
    ),
  );
  body.append(
    form(
      (entered) => {
        location.hash = write("proof", entered);
      },
      field("Decision id", "decision", state.decision),
      field("or number of a record", "index", state.index),
      h("button", { type: "submit", class: "main" }, "Choose"),
    ),
  );
  if (!state.decision && !/^\d{1,15}$/.test(state.index ?? "")) return;
  const place = h("div", {});
  const key = field("Log key that you were given (name+hash+base64)", "key", brought.key, { rows: 2 });
  const older = field("An older checkpoint that you kept (optional)", "older", brought.older, { rows: 5 });
  const decision = state.decision ? await get(`/v1/decisions/${encodeURIComponent(state.decision)}`) : null;
  if (decision) {
    const known = await reasons();
    body.append(
      ...[verdictOf(decision, known), whoAsked(decision)].flat(Infinity).filter(Boolean),
      h("details", {}, h("summary", {}, "Wanted, found, who"), ...conditions(decision, known).flat(Infinity)),
    );
  }
  body.append(
    h("h2", {}, "Check it"),
    form(
      async (entered) => {
        Object.assign(brought, { key: entered.key ?? "", older: older.querySelector("textarea").value });
        await prove(state, decision, place).catch((error) =>
          place.append(h("p", { class: "failure", role: "alert" }, error.message)),
        );
      },
      key,
      older,
      h("button", { type: "submit", class: "main" }, "Check"),
    ),
    place,
  );
}
