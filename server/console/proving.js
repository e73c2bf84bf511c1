// SPDX-License-Identifier: Apache-2.0
// The steps of a proof. Each is checked here, in the browser, with what the service sent and the log key
// that the user brought; a step that cannot be checked says so and is never a yes.
import { getBytes, get } from "./api.js";
import { fromHex, sha256, toHex, toText } from "./bytes.js";
import { differences } from "./differences.js";
import { parseEnvelope, signersOf } from "./dsse.js";
import { checkConsistency, checkInclusion, leafHash } from "./merkle.js";
import { parseVerifierKey, verifyCheckpoint } from "./note.js";

const HEX = (list) => list.map(fromHex);

// Runs the steps one after another; each is {name, run}, gives a text and fills `found`. After one that
// fails the others are not run: they would rest on it.
export async function runSteps(steps, show) {
  let holds = true;
  for (const { name, run } of steps) {
    if (!holds) {
      show(name, "skipped", "rests on a step that failed");
      continue;
    }
    try {
      show(name, "good", await run());
    } catch (error) {
      holds = false;
      show(name, "bad", error.message);
    }
  }
  return holds;
}

// The checkpoint, the record at `index` and its place in the log.
export function logSteps(found, { verifierKey, index }) {
  return [
    {
      name: "Your log key",
      run: async () => {
        found.verifier = await parseVerifierKey(verifierKey);
        return `the key of ${found.verifier.name}`;
      },
    },
    {
      name: "Signature of the checkpoint",
      run: async () => {
        found.note = toText(await getBytes("/log/checkpoint", "text/plain"));
        found.checkpoint = await verifyCheckpoint(found.note, found.verifier);
        return `signed by your key: ${found.checkpoint.size} records, root ${toHex(found.checkpoint.root)}`;
      },
    },
    {
      name: "The record",
      run: async () => {
        found.record = await getBytes(`/v1/log/entries/${index}`, "application/json");
        found.leaf = await leafHash(found.record);
        found.event = JSON.parse(toText(found.record));
        return `${found.event.type} at ${found.event.time} by ${found.event.actor}; its hash is ${toHex(found.leaf)}`;
      },
    },
    {
      name: "The record is in the log",
      run: async () => {
        const { size, root } = found.checkpoint;
        const answer = await get(`/v1/log/entries/${index}/proof`, { tree_size: size });
        found.inclusion = answer.inclusion;
        await checkInclusion({ index, size, root, leaf: found.leaf, path: HEX(answer.inclusion) });
        return `${answer.inclusion.length} hashes lead from record ${index} to the root of the checkpoint`;
      },
    },
  ];
}

// That the log which signed `older` is the one of now: nothing before was changed or taken away.
export function consistencySteps(found, older) {
  return [
    {
      name: "Nothing was changed since your older checkpoint",
      run: async () => {
        const before = await verifyCheckpoint(older, found.verifier);
        const { size, root } = found.checkpoint;
        if (before.size === 0) return "the older log was empty";
        if (before.size > size) throw new Error("your checkpoint is of a longer log: records are gone");
        const answer = await get("/v1/log/consistency", { first: before.size, second: size });
        await checkConsistency({
          first: before.size,
          second: size,
          firstRoot: before.root,
          secondRoot: root,
          path: HEX(answer.consistency),
        });
        return `the ${before.size} records of then begin the ${size} of now`;
      },
    },
  ];
}

// The signed decision is the document that the record names, and says what the page shows.
export function decisionSteps(found, decision, keys) {
  return [
    {
      name: "The record is about this decision",
      run: async () => {
        const { type, detail, documents } = found.event;
        if (type !== "decision.made" || detail?.decision_id !== decision.id)
          throw new Error("the record is about something else");
        found.document = documents[0];
        return `it names the document ${found.document}`;
      },
    },
    {
      name: "Digest of the signed decision",
      run: async () => {
        found.bytes = await getBytes(
          `/v1/decisions/${encodeURIComponent(decision.id)}`,
          "application/vnd.dsse.envelope.v1+json",
        );
        const digest = `sha256:${toHex(await sha256(found.bytes))}`;
        if (digest !== found.document) throw new Error(`its bytes have the digest ${digest}`);
        return `${found.bytes.length} bytes with the digest that the record names`;
      },
    },
    {
      name: "Digest of the results",
      run: async () => {
        found.envelope = parseEnvelope(toText(found.bytes));
        const signed = found.envelope.document;
        if (signed.id !== decision.id || signed.verdict.allowed !== decision.verdict.allowed)
          throw new Error("it is about another decision, or says the opposite");
        const results = await getBytes(`/v1/documents/${signed.results}`);
        if (`sha256:${toHex(await sha256(results))}` !== signed.results)
          throw new Error("their bytes have another digest");
        const { preconditions, policies } = JSON.parse(toText(results));
        const whole = { ...signed, verdict: { ...signed.verdict, preconditions, policies } };
        if (differences(whole, decision).length > 0)
          throw new Error("this page shows something else than what was signed");
        return "conditions, what they wanted and what they found are those that were signed";
      },
    },
    {
      name: "Signature of the decision",
      run: async () => {
        const { keys: by } = await signersOf(found.envelope, keys);
        if (by.length === 0) throw new Error("none of the keys that this service publishes signed it");
        return `by the service's key ${by[0].id}; that it is the service's key, this page knows from the service alone`;
      },
    },
  ];
}

// Keys of /.well-known/jwks.json in the form of the trust store: SubjectPublicKeyInfo in base64.
export async function publishedKeys(jwks) {
  const made = await Promise.all(
    jwks.keys.map(async ({ kty, crv, x, y, kid }) => {
      const names = {
        "P-256": ["ecdsa-p256", { name: "ECDSA", namedCurve: "P-256" }],
        "P-384": ["ecdsa-p384", { name: "ECDSA", namedCurve: "P-384" }],
        Ed25519: ["ed25519", "Ed25519"],
      };
      if (!Object.hasOwn(names, crv)) return null;
      const [algorithm, parameters] = names[crv];
      const key = await crypto.subtle.importKey("jwk", { kty, crv, x, y }, parameters, true, ["verify"]);
      const spki = new Uint8Array(await crypto.subtle.exportKey("spki", key));
      if (`sha256:${toHex(await sha256(spki))}` !== kid) return null;
      return { id: kid, algorithm, public_key: btoa(String.fromCharCode(...spki)) };
    }),
  );
  return made.filter(Boolean);
}
