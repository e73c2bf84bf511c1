// SPDX-License-Identifier: Apache-2.0
// Merkle proofs of the log, RFC 9162 sections 2.1.3.2 and 2.1.4.2. Sizes are BigInt: shifts of
// numbers end at 32 bits in JavaScript.
import { equal, sha256 } from "./bytes.js";

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

export const leafHash = (record) => sha256(LEAF, record);
const nodeHash = (left, right) => sha256(NODE, left, right);

export class ProofError extends Error {}

function check(holds, what) {
  if (!holds) throw new ProofError(what);
}

function checkHashes(list) {
  check(Array.isArray(list) && list.length <= 128, "the proof is too long");
  check(
    list.every((hash) => hash.length === 32),
    "a hash of the proof has not 32 bytes",
  );
}

// Throws ProofError unless `leaf` is at `index` of the tree with this size and root.
export async function checkInclusion({ index, size, leaf, path, root }) {
  checkHashes([leaf, root]);
  checkHashes(path);
  check(Number.isSafeInteger(index) && Number.isSafeInteger(size), "a size is not a whole number");
  check(index >= 0 && index < size, "the index lies outside of the tree");
  let at = BigInt(index);
  let last = BigInt(size) - 1n;
  let hash = leaf;
  for (const sibling of path) {
    check(last > 0n, "the proof is too long");
    if (at & 1n || at === last) {
      hash = await nodeHash(sibling, hash);
      while (!(at & 1n) && at !== 0n) {
        at >>= 1n;
        last >>= 1n;
      }
    } else {
      hash = await nodeHash(hash, sibling);
    }
    at >>= 1n;
    last >>= 1n;
  }
  check(last === 0n, "the proof is too short");
  check(equal(hash, root), "the proof leads to another root");
}

// Throws ProofError unless the tree of `first` leaves begins the tree of `second`.
export async function checkConsistency({ first, second, firstRoot, secondRoot, path }) {
  check(Number.isSafeInteger(first) && Number.isSafeInteger(second), "a size is not a whole number");
  check(first >= 1 && first <= second, "the older tree is larger than the newer one");
  checkHashes([firstRoot, secondRoot]);
  checkHashes(path);
  if (first === second) {
    check(path.length === 0 && equal(firstRoot, secondRoot), "two roots for one size");
    return;
  }
  let at = BigInt(first) - 1n;
  let last = BigInt(second) - 1n;
  const isPower = (BigInt(first) & at) === 0n;
  const hashes = isPower ? [firstRoot, ...path] : [...path];
  check(path.length > 0, "the proof is too short");
  while (at & 1n) {
    at >>= 1n;
    last >>= 1n;
  }
  let older = hashes[0];
  let newer = hashes[0];
  for (const hash of hashes.slice(1)) {
    check(last > 0n, "the proof is too long");
    if (at & 1n || at === last) {
      older = await nodeHash(hash, older);
      newer = await nodeHash(hash, newer);
      while (!(at & 1n) && at !== 0n) {
        at >>= 1n;
        last >>= 1n;
      }
    } else {
      newer = await nodeHash(newer, hash);
    }
    at >>= 1n;
    last >>= 1n;
  }
  check(last === 0n, "the proof is too short");
  check(equal(older, firstRoot), "the proof does not begin at the older root");
  check(equal(newer, secondRoot), "the proof does not lead to the newer root");
}
