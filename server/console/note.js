// SPDX-License-Identifier: Apache-2.0
// Checkpoints: C2SP signed-note and tlog-checkpoint, with the one Ed25519 key that the user gives.
import { equal, fromBase64, sha256, toHex, utf8 } from "./bytes.js";

const ED25519 = 1;
const MAX_NOTE = 8192;
const MAX_SIGNATURES = 16;

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
  const end = note.indexOf("\n\n");
  const lines = end < 0 ? [] : note.slice(0, end).split("\n");
  const below = note.slice(end + 2);
  const isText = note.length <= MAX_NOTE && !/[\u0000-\u0009\u000b-\u001f\u007f]/.test(note) && below.endsWith("\n");
  if (!isText || lines.length !== 3 || lines[0] === "" || !/^(0|[1-9][0-9]{0,15})$/.test(lines[1])) {
    throw new Error("a checkpoint has an origin, a size, a root and signatures");
  }
  const root = fromBase64(lines[2]);
  const size = Number(lines[1]);
  if (root.length !== 32 || !Number.isSafeInteger(size)) throw new Error("the size or the root is malformed");
  const signatures = below
    .slice(0, -1)
    .split("\n")
    .map((line) => {
      const [, name, encoded] = /^\u2014 ([^\s+]+) ([^\s]+)$/.exec(line) ?? [];
      const bytes = fromBase64(encoded);
      if (bytes.length <= 4) throw new Error("a signature line is malformed");
      return { name, bytes };
    });
  if (signatures.length > MAX_SIGNATURES) throw new Error("the checkpoint has too many signatures");
  return { origin: lines[0], size, root, signed: utf8(note.slice(0, end + 1)), signatures };
}

// Returns origin, size and root of a checkpoint that `verifier` signed; throws otherwise. Each signature
// under its name and hash must verify, as for the command line.
export async function verifyCheckpoint(note, verifier) {
  const read = parseNote(note);
  if (read.origin !== verifier.name) throw new Error("the checkpoint is of another log than the key");
  const isMine = ({ name, bytes }) => name === verifier.name && equal(bytes.slice(0, 4), verifier.hash);
  const mine = read.signatures.filter(isMine);
  if (mine.length === 0) throw new Error("the checkpoint has no signature by this key");
  const key = await crypto.subtle.importKey("raw", verifier.key, "Ed25519", false, ["verify"]);
  for (const { bytes } of mine) {
    if (!(await crypto.subtle.verify("Ed25519", key, bytes.slice(4), read.signed))) {
      throw new Error("the signature of the checkpoint does not verify");
    }
  }
  if (read.size === 0 && !equal(read.root, await sha256())) throw new Error("the root of the empty log is another one");
  return { origin: read.origin, size: read.size, root: read.root };
}
