// SPDX-License-Identifier: Apache-2.0
// Change: who changed trust and policies and when, in words; what a policy in question would change; and
// a signed envelope that somebody brings (envelope_review.js).
import { all, get } from "./api.js";
import { badge, button, cut, failure, h, id, json, link, part, table, when } from "./dom.js";
import { upload } from "./envelope_review.js";
import { compare, envelopesOf, impactButton, inForceUnder, lines, signatures, unread } from "./governing.js";
import { inWords } from "./words.js";

export const title = "Change";
const SHOWN = 200; // changes
const STEPS = 100; // records of one policy
const TYPES = ["trust.", "policy.", "statement.withdrawn", "key."];

async function detail(event, trust) {
  const envelopes = await envelopesOf(event);
  const signed = await Promise.all(envelopes.map((envelope) => signatures(envelope, trust)));
  return envelopes.length === 0
    ? [h("p", {}, "Nobody signed this in an envelope."), json(event.detail)]
    : [
        envelopes.map((envelope, i) => [lines(inWords(envelope.payloadType, envelope.document)), signed[i].element]),
        cut(unread(event)),
      ];
}

async function history(trust) {
  const lists = await Promise.all(TYPES.map((type) => all("/v1/audit/events", { type, order: "newest" }, SHOWN)));
  const events = lists.flatMap((one) => one.items).sort((a, b) => b.index - a.index);
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
  const changes = table(
    "Newest changes",
    [
      { title: "Time", cell: (event) => when(event.time) },
      { title: "What", cell: (event) => event.type },
      {
        title: "About",
        cell: (event) => [event.subject.slice(0, 4).map((subject) => [id(subject), " "]), cut(event.subject.length - 4)],
      },
      { title: "Sent by", cell: (event) => event.actor },
      { title: "In words, and who signed", cell: whoSigned },
      { title: "Record", cell: (event) => link("proof", { index: event.index }, String(event.index)) },
    ],
    events.slice(0, SHOWN),
    "nothing changed yet.",
  );
  return [changes, cut(events.length - SHOWN, lists.some((one) => one.more))];
}

async function policies() {
  const [{ items, more }, active] = await Promise.all([
    all("/v1/policies", {}, 1000),
    all("/v1/policies", { active: true }, 1000),
  ]);
  const inForce = new Set(active.items.map((row) => row.id));
  const shown = table(
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
  return [shown, cut(0, more || active.more)];
}

async function approvers(policyId, trust) {
  const query = { subject: policyId, type: "policy.", order: "newest" };
  const { items, more } = await all("/v1/audit/events", query, STEPS);
  const rows = await Promise.all(
    items.reverse().map(async (event) => ({
      event,
      who: await Promise.all(
        (await envelopesOf(event)).map(async (envelope) => (await signatures(envelope, trust)).element),
      ),
    })),
  );
  const people = table(
    "Who wrote and who approved it",
    [
      { title: "Time", cell: ({ event }) => when(event.time) },
      { title: "What", cell: ({ event }) => event.type },
      { title: "Signed by", cell: ({ who }) => who },
      { title: "Sent by", cell: ({ event }) => event.actor },
    ],
    rows,
  );
  return [people, cut(0, more)];
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
