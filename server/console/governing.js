// SPDX-License-Identifier: Apache-2.0
// What the screen Change shows of signed documents: who signed, how one differs, what it would change.
import { all, get, getBytes, post } from "./api.js";
import { sha256, toHex, toText } from "./bytes.js";
import { differences } from "./differences.js";
import { badge, button, cut, failure, h, id, table } from "./dom.js";
import { canCheck, parseEnvelope, signersOf } from "./dsse.js";
import { count } from "./format.js";

export const lines = (texts) => texts.map((text) => h("div", {}, text));

// The signatures of an envelope, checked in this browser against the keys of the trust store.
export async function signatures(envelope, trust) {
  const { keys, unknown } = await signersOf(envelope, trust.keys);
  const unchecked = trust.keys.filter((key) => !canCheck(key)).length;
  const people = keys.map((key) => [
    h(
      "div",
      {},
      badge("signed", "good"),
      ` ${key.identity} (${key.purpose}) `,
      id(key.id),
      key.revoked ? badge("revoked", "bad") : "",
    ),
  ]);
  return {
    keys,
    element: [
      people,
      unknown
        ? h(
            "div",
            {},
            badge(`${unknown} signature${unknown > 1 ? "s" : ""} of no known key`, "warn"),
            unchecked
              ? ` (this page cannot check ${count(unchecked)} keys of the trust store: certificates, RSA, ML-DSA)`
              : "",
          )
        : "",
    ],
  };
}

const MOST_READ = 8; // documents of one event

export const unread = (event) => Math.max(0, event.documents.length - MOST_READ);

// Documents of an event that are envelopes; bootstrap and cases are none.
export async function envelopesOf(event) {
  const found = [];
  for (const document of event.documents.slice(0, MOST_READ)) {
    const bytes = await getBytes(`/v1/documents/${encodeURIComponent(document)}`);
    if (`sha256:${toHex(await sha256(bytes))}` !== document)
      throw new Error("a document has another digest than its record says");
    try {
      found.push(parseEnvelope(toText(bytes)));
    } catch {
      continue;
    }
  }
  return found;
}

const shown = (value) => (value === undefined ? h("span", { class: "faint" }, "(absent)") : JSON.stringify(value));

export function compare(before, after, caption) {
  return table(
    caption,
    [
      { title: "Where", cell: (one) => h("code", {}, one.path) },
      { title: "Before", cell: (one) => shown(one.before) },
      { title: "After", cell: (one) => shown(one.after) },
    ],
    differences(before, after),
    "no difference.",
  );
}

// What stands under this name now; null when nothing does, or when the roles of the reader do not show it.
export async function inForceUnder(name) {
  const hidden = (error) => {
    if (error.code === "forbidden") return { items: [] };
    throw error;
  };
  const { items } = await all("/v1/policies", { name, active: true }, 1).catch(hidden);
  return items.length ? get(`/v1/policies/${items[0].id}`) : null;
}

const MOST_CAUSES = 20;

async function impact(hypothesis) {
  const body = JSON.stringify({ hypothesis, limit: 20 });
  // One after the other: the service answers one question about impact at a time.
  const decisions = await post("/v1/impact/decisions", body);
  const pods = await post("/v1/impact/pods", body);
  const row = (name, answer) =>
    h(
      "p",
      {},
      `${name}: ${count(answer.examined)} looked at, `,
      badge(`${count(answer.denied)} newly refused`, answer.denied ? "bad" : "good"),
      " ",
      badge(`${count(answer.allowed)} newly allowed`, answer.allowed ? "warn" : "plain"),
      `, ${count(answer.other_reasons)} refused for other reasons`,
      answer.next ? " (there are more)" : "",
    );
  const why = [...decisions.why, ...pods.why];
  const causes = table(
    "Because of",
    [
      { title: "Policy", cell: (one) => one.policy ?? "" },
      { title: "Condition", cell: (one) => one.condition },
      { title: "Reason", cell: (one) => h("code", {}, one.code) },
      { title: "Changes", cell: (one) => count(one.count ?? 0) },
    ],
    why.slice(0, MOST_CAUSES),
    "nothing changes.",
  );
  const rest = cut(why.length - MOST_CAUSES);
  return [row("Decisions", decisions), row("Pods that run", pods), causes, rest].filter(Boolean);
}

export function impactButton(hypothesis) {
  const place = h("div", {});
  return [
    h(
      "div",
      { class: "row" },
      button("What would change?", async () => {
        place.replaceChildren(h("p", { role: "status" }, "Judging again\u2026"));
        place.replaceChildren(...(await impact(hypothesis).catch((error) => [failure(error)])));
      }),
    ),
    place,
  ];
}
