// SPDX-License-Identifier: Apache-2.0
// A signed envelope that somebody brings: what it does, how it differs from what is in force, what it
// would change, who signed so far. Then it can be sent. Keys never come here.
import { get, post } from "./api.js";
import { badge, button, failure, h, json, say } from "./dom.js";
import { parseEnvelope } from "./dsse.js";
import { compare, impactButton, inForceUnder, lines, signatures } from "./governing.js";
import { APPROVAL, hypothesisOf, inWords, PLACES, POLICY, replaced, standing, TRUST_CHANGE } from "./words.js";

const DSSE = "application/vnd.dsse.envelope.v1+json";
const MOST_UPLOAD = 1 << 20;

// What stands now where the envelope would put something, and the question of impact.
async function context({ payloadType, document }, trust) {
  if (payloadType === POLICY) {
    const now = await inForceUnder(document.name);
    return {
      pairs: now ? [[now.policy, document, "Differences"]] : [],
      hypothesis: hypothesisOf(payloadType, document),
    };
  }
  if (payloadType !== APPROVAL) {
    return { pairs: standing(trust, document), hypothesis: hypothesisOf(payloadType, document) };
  }
  const view = await get(`/v1/policies/${encodeURIComponent(document.policy)}`);
  const whole = view.policy ?? view.reference_set;
  if (document.action !== "activate")
    return { pairs: [], hypothesis: view.policy ? { deactivate: [view.name] } : null };
  const now = await inForceUnder(view.name);
  const pairs = now ? [[now.policy ?? now.reference_set, whole, "Differences"]] : [];
  return { pairs, hypothesis: view.policy ? { activate: [whole] } : { sets: [whole] } };
}

async function review(text, trust, place) {
  const envelope = parseEnvelope(text);
  const target = PLACES[envelope.payloadType];
  if (!target) throw new Error(`documents of type ${envelope.payloadType} are not sent from here`);
  const { keys, element } = await signatures(envelope, trust);
  const people = new Set(
    keys.filter((key) => key.purpose === target.purpose && !key.revoked).map((key) => key.identity),
  );
  const { pairs, hypothesis } = await context(envelope, trust);
  const unseen = envelope.payloadType === TRUST_CHANGE ? replaced(trust, envelope.document) : [];
  const answer = h("div", {});
  const send = button(
    "Send it",
    async () => {
      try {
        await post(target.path(envelope.document), text, DSSE);
        answer.replaceChildren(
          h(
            "p",
            { role: "status" },
            badge("accepted", "good"),
            " The service has it; the history shows it after a reload.",
          ),
        );
      } catch (error) {
        answer.replaceChildren(failure(error));
      }
    },
    "main",
  );
  const parts = [
    h("h3", {}, "What it does"),
    lines(inWords(envelope.payloadType, envelope.document)),
    h("h3", {}, "Signatures so far"),
    element,
    h("p", { class: "faint" }, `${people.size} of ${target.needed} people with a key for this (${target.purpose}).`),
    pairs.length
      ? [
          h("h3", {}, "Against what is in force"),
          unseen.map((text) => h("p", {}, badge("replaced", "bad"), " ", text)),
          pairs.map((pair) => compare(...pair)),
        ]
      : "",
    hypothesis ? [h("h3", {}, "Impact"), impactButton(hypothesis)] : "",
    h("details", {}, h("summary", {}, "The document"), json(envelope.document)),
    h("div", { class: "row" }, send),
    answer,
  ];
  place.replaceChildren(...parts.flat(Infinity).filter(Boolean));
  say("The envelope is shown below.");
}

export function upload(trust) {
  const place = h("div", {});
  const input = h("input", {
    type: "file",
    id: "field-envelope",
    accept: ".json",
    on: {
      change: async () => {
        const file = input.files[0];
        if (!file) return;
        try {
          if (file.size > MOST_UPLOAD) throw new Error("the file is longer than any such envelope");
          await review(await file.text(), trust, place);
        } catch (error) {
          place.replaceChildren(failure(error));
        }
        input.value = ""; // so that the same file can be chosen again, when more people have signed it
      },
    },
  });
  return h(
    "section",
    { "aria-label": "A signed envelope" },
    h("h2", {}, "A signed envelope"),
    h(
      "p",
      { class: "lead" },
      "Look at what others signed, and send it when enough have. Sign with assay sign; no key belongs into this page.",
    ),
    h(
      "div",
      { class: "field" },
      h("label", { for: "field-envelope" }, "Envelope (a change of trust, a policy, an approval)"),
      input,
    ),
    place,
  );
}
