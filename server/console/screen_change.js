// SPDX-License-Identifier: Apache-2.0
// Change: who changed trust and policies and when, in words; what a policy in question would change; and
// a signed envelope that somebody brings, before it is sent. Keys never come here.
import { all, get, getBytes, post } from "./api.js";
import { sha256, toHex, toText } from "./bytes.js";
import { badge, button, failure, h, id, json, link, part, say, table, when } from "./dom.js";
import { differences } from "./differences.js";
import { canCheck, parseEnvelope, signersOf } from "./dsse.js";
import { count } from "./format.js";
import { inWords, PLACES, POLICY } from "./words.js";

export const title = "Change";
const DSSE = "application/vnd.dsse.envelope.v1+json";
const MOST_UPLOAD = 1 << 20;
const lines = (texts) => texts.map((text) => h("div", {}, text));

// The signatures of an envelope, checked in this browser against the keys of the trust store.
async function signatures(envelope, trust) {
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

// Documents of an event that are envelopes; bootstrap and cases are none.
async function envelopesOf(event) {
  const found = [];
  for (const document of event.documents.slice(0, 8)) {
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

async function detail(event, trust) {
  const envelopes = await envelopesOf(event);
  const signed = await Promise.all(envelopes.map((envelope) => signatures(envelope, trust)));
  return envelopes.length === 0
    ? [h("p", {}, "Nobody signed this in an envelope."), json(event.detail)]
    : envelopes.map((envelope, i) => [lines(inWords(envelope.payloadType, envelope.document)), signed[i].element]);
}

async function history(trust) {
  const lists = await Promise.all(
    ["trust.", "policy.", "statement.withdrawn", "key."].map((type) => all("/v1/audit/events", { type }, 500)),
  );
  const events = lists
    .flatMap((one) => one.items)
    .sort((a, b) => b.index - a.index)
    .slice(0, 200);
  const whoSigned = (event) => {
    const place = h("div", {});
    return [
      button("Show", async (press) => {
        press.target.disabled = true;
        place.replaceChildren(
          ...(await detail(event, trust).catch((error) => [failure(error)])).flat(Infinity).filter(Boolean),
        );
      }),
      place,
    ];
  };
  return table(
    "Newest changes",
    [
      { title: "Time", cell: (event) => when(event.time) },
      { title: "What", cell: (event) => event.type },
      { title: "About", cell: (event) => event.subject.slice(0, 4).map((subject) => [id(subject), " "]) },
      { title: "Sent by", cell: (event) => event.actor },
      { title: "In words, and who signed", cell: whoSigned },
      { title: "Record", cell: (event) => link("proof", { index: event.index }, String(event.index)) },
    ],
    events,
    "nothing changed yet.",
  );
}

async function policies() {
  const [{ items }, active] = await Promise.all([
    all("/v1/policies", {}, 1000),
    all("/v1/policies", { active: true }, 1000),
  ]);
  const inForce = new Set(active.items.map((row) => row.id));
  return table(
    "Policies",
    [
      { title: "Policy", cell: (row) => link("change", { policy: row.id }, `${row.name} version ${row.version}`) },
      { title: "", cell: (row) => (inForce.has(row.id) ? badge("in force", "good") : "") },
      { title: "Written by", cell: (row) => row.signers.map((one) => one.identity).join(", ") },
      { title: "Stored", cell: (row) => when(row.accepted_at) },
      { title: "Last put in force", cell: (row) => when(row.last_activation?.time) },
    ],
    items.reverse(),
    "none.",
  );
}

async function approvers(policyId, trust) {
  const { items } = await all("/v1/audit/events", { subject: policyId, type: "policy." }, 100);
  const rows = await Promise.all(
    items.map(async (event) => ({
      event,
      who: await Promise.all(
        (await envelopesOf(event)).map(async (envelope) => (await signatures(envelope, trust)).element),
      ),
    })),
  );
  return table(
    "Who wrote and who approved it",
    [
      { title: "Time", cell: ({ event }) => when(event.time) },
      { title: "What", cell: ({ event }) => event.type },
      { title: "Signed by", cell: ({ who }) => who },
      { title: "Sent by", cell: ({ event }) => event.actor },
    ],
    rows,
  );
}

const shown = (value) => (value === undefined ? h("span", { class: "faint" }, "(absent)") : JSON.stringify(value));

function compare(before, after, caption) {
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
async function inForceUnder(name) {
  const hidden = (error) => {
    if (error.code === "forbidden") return { items: [] };
    throw error;
  };
  const { items } = await all("/v1/policies", { name, active: true }, 1).catch(hidden);
  return items.length ? get(`/v1/policies/${items[0].id}`) : null;
}

async function impact(hypothesis) {
  const body = JSON.stringify({ hypothesis, limit: 20 });
  const [decisions, pods] = await Promise.all([post("/v1/impact/decisions", body), post("/v1/impact/pods", body)]);
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
  const causes = table(
    "Because of",
    [
      { title: "Policy", cell: (one) => one.policy ?? "" },
      { title: "Condition", cell: (one) => one.condition },
      { title: "Reason", cell: (one) => h("code", {}, one.code) },
      { title: "Changes", cell: (one) => count(one.count ?? 0) },
    ],
    [...decisions.why, ...pods.why].slice(0, 20),
    "nothing changes.",
  );
  return [row("Decisions", decisions), row("Pods that run", pods), causes];
}

function impactButton(hypothesis) {
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

async function onePolicy(body, policyId) {
  const [view, trust] = await Promise.all([
    get(`/v1/policies/${encodeURIComponent(policyId)}`),
    get("/v1/trust").catch(() => ({ keys: [] })),
  ]);
  const document = view.policy ?? view.reference_set;
  const current = view.active ? null : await inForceUnder(view.name);
  const who = part("Signatures", () => approvers(view.id, trust));
  body.append(
    h(
      "p",
      {},
      h("strong", {}, `${view.name} version ${view.version} `),
      badge(view.active ? "in force" : "not in force", view.active ? "good" : "plain"),
      ` written by ${view.signers.map((one) => one.identity).join(", ")} `,
      id(view.id),
    ),
    who.element,
    ...(current
      ? [
          h("h2", {}, "Against what is in force"),
          compare(current.policy ?? current.reference_set, document, "Differences"),
        ]
      : []),
    h("h2", {}, "Impact"),
    ...impactButton(view.policy ? { activate: [document] } : { sets: [document] }),
    h("h2", {}, "The document"),
    json(document),
  );
  await who.load();
}

async function review(text, trust, place) {
  const envelope = parseEnvelope(text);
  const target = PLACES[envelope.payloadType];
  if (!target) throw new Error(`documents of type ${envelope.payloadType} are not sent from here`);
  const { keys, element } = await signatures(envelope, trust);
  const people = new Set(
    keys.filter((key) => key.purpose === target.purpose && !key.revoked).map((key) => key.identity),
  );
  const now = envelope.payloadType === POLICY ? await inForceUnder(envelope.document.name) : null;
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
    now ? [h("h3", {}, "Against what is in force"), compare(now.policy, envelope.document, "Differences")] : "",
    envelope.payloadType === POLICY ? [h("h3", {}, "Impact"), impactButton({ activate: [envelope.document] })] : "",
    h("details", {}, h("summary", {}, "The document"), json(envelope.document)),
    h("div", { class: "row" }, send),
    answer,
  ];
  place.replaceChildren(...parts.flat(Infinity).filter(Boolean));
  say("The envelope is shown below.");
}

function upload(trust) {
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

export async function show(body, state) {
  if (state.policy) {
    await onePolicy(body, state.policy);
    return;
  }
  const trust = await get("/v1/trust").catch((error) => {
    if (error.code === "forbidden") return { keys: [] };
    throw error;
  });
  const parts = [part("Policies", policies), part("History", () => history(trust))];
  body.append(parts[0].element, upload(trust), parts[1].element);
  await Promise.all(parts.map((one) => one.load()));
}
