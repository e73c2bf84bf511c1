// SPDX-License-Identifier: Apache-2.0
// Checkpoints: C2SP signed-note and tlog-checkpoint, with the one Ed25519 key that the user gives.
import { concat, equal, fromBase64, sha256, toHex, utf8 } from "./bytes.js";

const ED25519 = 1;
const MAX_NOTE = 8192;

// Reads a verifier key, name+hash+base64, and checks that its hash fits.
export async function parseVerifierKey(text) {
  const [, name, hash, encoded] = /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text.trim()) ?? [];
  if (!encoded) throw new Error("a verifier key looks like name+hash+base64");
  const key = fromBase64(encoded);
  if (key.length !== 33 || key[0] !== ED25519) throw new Error("the verifier key is not Ed25519");
  const own = (await sha256(utf8(name + "\n"), key)).slice(0, 4);
  if (toHex(own) !== hash) throw new Error("the hash of the verifier key does not fit its name and key");
  return { name, hash: own, key: key.slice(1) };
}

// Reads a note without verifying it.
export function parseNote(note) {
  if (note.length > MAX_NOTE) throw new Error("the checkpoint is too long");
  const end = note.indexOf("\n\n");
  const lines = end < 0 ? [] : note.slice(0, end).split("\n");
  if (lines.length !== 3 || !/^(0|[1-9][0-9]{0,15})$/.test(lines[1])) {
    throw new Error("a checkpoint has an origin, a size and a root");
  }
  const root = fromBase64(lines[2]);
  const size = Number(lines[1]);
  if (root.length !== 32 || !Number.isSafeInteger(size)) throw new Error("the size or the root is malformed");
  const signatures = note.slice(end + 2).split("\n").filter(Boolean).map((line) => {
    const [, name, encoded] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
    if (!encoded) throw new Error("a signature line is malformed");
    return { name, bytes: fromBase64(encoded) };
  });
  return { origin: lines[0], size, root, signed: utf8(note.slice(0, end + 1)), signatures };
}

// Returns origin, size and root of a checkpoint that `verifier` signed; throws otherwise.
export async function verifyCheckpoint(note, verifier) {
  const read = parseNote(note);
  if (read.origin !== verifier.name) throw new Error("the checkpoint is of another log than the key");
  const mine = read.signatures.find(({ name, bytes }) =>
    name === verifier.name && bytes.length === 68 && equal(bytes.slice(0, 4), verifier.hash));
  if (!mine) throw new Error("the checkpoint has no signature by this key");
  const key = await crypto.subtle.importKey("raw", concat(verifier.key), "Ed25519", false, ["verify"]);
  if (!(await crypto.subtle.verify("Ed25519", key, mine.bytes.slice(4), read.signed))) {
    throw new Error("the signature of the checkpoint does not verify");
  }
  return { origin: read.origin, size: read.size, root: read.root };
}
