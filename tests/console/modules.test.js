// SPDX-License-Identifier: Apache-2.0
// The console's modules that need no page, with the vectors of tests/vectors. test_modules.py copies both
// into one folder and runs node.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto;

const { fromBase64, fromHex, toHex, toText, utf8 } = await import("./bytes.js");
const { checkConsistency, checkInclusion, leafHash } = await import("./merkle.js");
const { parseVerifierKey, verifyCheckpoint } = await import("./note.js");
const { pae, parseEnvelope, rawSignature, signersOf } = await import("./dsse.js");
const { moment, relative, shortId, time, visible } = await import("./format.js");
const { parse, SCREENS, write } = await import("./fragment.js");
const { cell, csv } = await import("./csv.js");
const { asked, hours, tally } = await import("./asked.js");
const { differences } = await import("./differences.js");
const { endings } = await import("./ends.js");
const { treeOf } = await import("./lineage_tree.js");
const { hypothesisOf, inWords, replaced, standing, TRUST_CHANGE } = await import("./words.js");

const log = JSON.parse(readFileSync(new URL("log.json", import.meta.url)));
const dsse = JSON.parse(readFileSync(new URL("dsse.json", import.meta.url)));
// JSON.parse cannot see these; the service refuses them.
const UNSEEN = ["payload twice"];
const hex = (list) => list.map(fromHex);
const flipped = (bytes) => Uint8Array.from(bytes, (byte, i) => (i === 7 ? byte ^ 1 : byte));

test("leaf hashes are those of the vectors", async () => {
  for (const { record, leaf_hash: want } of log.records) {
    assert.equal(toHex(await leafHash(fromBase64(record))), want);
  }
});

test("inclusion: every vector holds, and no change of it does", async () => {
  const leaves = hex(log.leaves);
  const roots = hex(log.roots);
  for (const { index, size, path: list } of log.inclusion) {
    const proof = { index, size, leaf: leaves[index], path: hex(list), root: roots[size] };
    await checkInclusion(proof);
    const wrong = [{ leaf: flipped(proof.leaf) }, { root: flipped(proof.root) }, { index: size }, { size: 2 * size }, { index: -1 }, { index: 0.5 },
      { path: [...proof.path, proof.leaf] }];
    if (index + 1 < size) wrong.push({ index: index + 1 });
    if (list.length) wrong.push({ path: proof.path.slice(1) }, { path: [flipped(proof.path[0]), ...proof.path.slice(1)] });
    for (const change of wrong) await assert.rejects(checkInclusion({ ...proof, ...change }));
  }
});

test("inclusion: a tree beyond 32 bits is no smaller tree", async () => {
  // A left-most leaf below 40 siblings: the shifts of numbers would end at 32.
  const { sha256 } = await import("./bytes.js");
  const leaf = await leafHash(utf8("x"));
  const path = hex(Array(40).fill("11".repeat(32)));
  let root = leaf;
  for (const sibling of path) root = await sha256(Uint8Array.of(1), root, sibling);
  await checkInclusion({ index: 0, size: 2 ** 40, leaf, path, root });
  await assert.rejects(checkInclusion({ index: 0, size: 2 ** 8, leaf, path, root }));
});

test("consistency: every vector holds, and no change of it does", async () => {
  const roots = hex(log.roots);
  for (const { size1: first, size2: second, path: list } of log.consistency) {
    const proof = { first, second, firstRoot: roots[first], secondRoot: roots[second], path: hex(list) };
    await checkConsistency(proof);
    const wrong = [{ firstRoot: flipped(proof.firstRoot) }, { secondRoot: flipped(proof.secondRoot) }, { first: second + 1 }, { first: 0 }, { second: 2 * second },
      { path: [...proof.path, roots[1]] }];
    if (list.length) wrong.push({ path: proof.path.slice(1) }, { path: proof.path.slice(0, -1) }, { path: proof.path.map(flipped) });
    for (const change of wrong) await assert.rejects(checkConsistency({ ...proof, ...change }), JSON.stringify({ first, second, change }));
  }
});

test("checkpoints: the vectors verify; refused ones, other keys and other logs do not", async () => {
  const verifier = await parseVerifierKey(log.verifier_key);
  for (const { note, size, root } of log.checkpoints) {
    const text = toText(fromBase64(note));
    const read = await verifyCheckpoint(text, verifier);
    assert.equal(read.size, size);
    assert.equal(toHex(read.root), root);
    await assert.rejects(verifyCheckpoint(text.replace(`\n${size}\n`, `\n${size + 1}\n`), verifier));
    await assert.rejects(verifyCheckpoint(text, { ...verifier, name: "other.example/log" }));
  }
  for (const { note, reason } of log.refused_checkpoints) {
    let text;
    try {
      text = toText(fromBase64(note));
    } catch {
      continue;  // no text at all
    }
    await assert.rejects(verifyCheckpoint(text, verifier), reason);
  }
  for (const key of ["", "name", log.verifier_key.replace("+be0dd2b1+", "+be0dd2b2+"), log.verifier_key.slice(0, -4)]) {
    await assert.rejects(parseVerifierKey(key));
  }
});

const spki = async (pair) => Buffer.from(await crypto.subtle.exportKey("spki", pair.publicKey)).toString("base64");
const envelope = (type, payload, signatures) => JSON.stringify({ payloadType: type, payload: Buffer.from(payload).toString("base64"),
  signatures: signatures.map((sig) => ({ keyid: "", sig: Buffer.from(sig).toString("base64") })) });

test("envelopes: signers are found by their keys, whatever the hint says", async () => {
  const made = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const key = { id: "k", algorithm: "ed25519", public_key: await spki(made), identity: "olga" };
  const sig = new Uint8Array(await crypto.subtle.sign("Ed25519", made.privateKey, pae("a/b", utf8("{}"))));
  const found = async (text, keys = [key]) => (await signersOf(parseEnvelope(text), keys)).keys.map((one) => one.identity);
  assert.deepEqual(await found(envelope("a/b", "{}", [sig])), ["olga"]);
  assert.deepEqual(await found(envelope("a/b", "{}", [sig, sig])), ["olga"], "one key counts once");
  assert.deepEqual(await found(envelope("a/c", "{}", [sig])), [], "the type is signed");
  assert.deepEqual(await found(envelope("a/b", "{ }", [sig])), []);
  assert.deepEqual(await found(envelope("a/b", "{}", [flipped(sig)])), []);
  assert.deepEqual(await found(envelope("a/b", "{}", [sig]), [{ ...key, algorithm: "rsa-pss" }]), [], "kinds that cannot be checked");
  for (const text of ["", "{}", "[]", '{"payloadType":"a","payload":"e30=","signatures":[]}', '{"payloadType":"a","payload":"e30","signatures":[{"sig":"AA=="}]}']) {
    assert.throws(() => parseEnvelope(text), undefined, text);
  }
});

test("envelopes of the vectors: read or refused, and signed by the keys that are named", async () => {
  const keys = dsse.keys.map(({ public: raw }, i) => ({ id: String(i), algorithm: "ed25519",
    public_key: Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), Buffer.from(raw, "hex")]).toString("base64") }));
  for (const { name, envelope: text, want, signed_by: by, reason } of dsse.envelopes) {
    if (want === "accept") {
      const found = await signersOf(parseEnvelope(text), keys);
      assert.deepEqual(found.keys.map((key) => Number(key.id)).sort(), by, name);
    } else if (!UNSEEN.includes(name)) {
      assert.throws(() => parseEnvelope(text), undefined, `${name}: ${reason}`);
    }
  }
  const { envelope: text, public_x: x, public_y: y, signature_der: der } = dsse.specification_example;
  const key = { id: "spec", algorithm: "ecdsa-p256",
    public_key: Buffer.from(`3059301306072a8648ce3d020106082a8648ce3d03010703420004${x}${y}`, "hex").toString("base64") };
  for (const sig of [JSON.parse(text).signatures[0].sig, der]) {
    const made = JSON.stringify({ ...JSON.parse(text), signatures: [{ sig }] });
    assert.equal((await signersOf(parseEnvelope(made), [key])).keys.length, 1);
  }
});

test("DER signatures: only one strict form becomes raw", () => {
  const good = fromHex("30080202007f02020080".replace("0202007f", "02017f").replace("3008", "3007"));
  assert.equal(toHex(rawSignature(good, 2)), "007f0080");
  for (const bad of ["", "30", "3000", "300602017f02017f00", "300702017f02017f", "300502017f02017f", "300702017f020200ff00", "3006020180020101", "30060201010202ff", "31060201010201ff"]) {
    assert.equal(rawSignature(fromHex(bad), 2), null, bad);
  }
});

test("hostile text: what cannot be seen becomes visible, what is long is cut", () => {
  assert.equal(visible("a\u202eb\u0000c\u200b"), "a\\u202eb\\u0000c\\u200b");
  assert.equal(visible("\ud800"), "\\ud800");
  assert.equal(visible("\udb40\udc41"), "\\udb40\\udc41", "tag characters");
  assert.equal(visible("<b>\u00e9\ud83d\ude00</b>"), "<b>\u00e9\ud83d\ude00</b>", "text stays text");
  assert.equal(visible("x".repeat(5000)).length, 2001);
  for (const value of [null, undefined, 3, {}, []]) assert.equal(typeof visible(value), "string");
  assert.equal(shortId(`assay-tree-v1-sha256:${"0123456789ab".padEnd(64, "0")}`), "0123456789ab\u2026");
  assert.equal(shortId("acme/demo"), "acme/demo");
});

test("times", () => {
  const now = Date.parse("2026-01-10T12:00:00Z");
  assert.equal(time("2026-01-02T03:04:05.678Z", false), "2026-01-02 03:04:05");
  assert.equal(time("<b>", false), "<b>");
  assert.equal(relative("2026-01-13T12:00:00Z", now), "in 3 d");
  assert.equal(relative("2026-01-10T11:55:00Z", now), "5 min ago");
  assert.equal(moment("1d", now), "2026-01-09T12:00:00.000Z");
  assert.equal(moment("2026-01-01", now), "2026-01-01T00:00:00.000Z");
  for (const text of ["", "yesterday", "1y", "2026-13-01", "2026-01-01T00:00:00", "-1d", "99999d"]) assert.equal(moment(text, now), null, text);
});

test("addresses: only members of the screen, never a token", () => {
  assert.deepEqual(parse("#refused?namespace=prod&token=assay_x&since=1d"), { screen: "refused", state: { namespace: "prod", since: "1d" } });
  assert.deepEqual(parse("#constructor?a=b"), { screen: "now", state: {} });
  assert.deepEqual(parse("").screen, "now");
  assert.deepEqual(parse(`#refused?text=${"x".repeat(513)}`).state, {});
  assert.equal(write("refused", { user: "a&b=<c>", token: "assay_x" }), "#refused?user=a%26b%3D%3Cc%3E");
  for (const [screen, members] of Object.entries(SCREENS)) {
    assert.ok(!members.some((name) => /token|secret|key/.test(name)), screen);
    const state = Object.fromEntries(members.map((name) => [name, `${name} <"'&=#?>`]));
    assert.deepEqual(parse(write(screen, state)), { screen, state });
  }
});

test("CSV: quotes, line breaks, and no formula", () => {
  assert.equal(cell('a"b'), '"a""b"');
  for (const text of ["=1+1", "+1", "-1", "@x", "\tx"]) assert.ok(cell(text).replace(/^"/, "").startsWith("'"), text);
  assert.equal(csv(["a", "b"], [["x,y", null]]), 'a,b\r\n"x,y",\r\n');
});

test("who asked: reviews and requests", () => {
  const row = { evaluated_at: "t", reasons: [], id: "i", point: "create", namespace: "n", models: [{ artifact: "a" }] };
  const review = asked({ ...row, request: { via: "admission-validate", namespace: "prod", name: "p", user: "u", principal: "c" } });
  assert.deepEqual([review.pod, review.user, review.cluster, review.models], ["prod/p", "u", "c", ["a"]]);
  const plain = asked({ ...row, request: { principal: "ci", namespace: "prod" } });
  assert.deepEqual([plain.pod, plain.user, plain.cluster], ["prod", "ci", ""]);
  const lost = asked({ ...row, models: [], request: { principal: "ci", asked: ["acme/none"] } });
  assert.deepEqual([lost.models, lost.artifacts], [["acme/none"], [""]], "a name without an artifact");
  assert.deepEqual(tally([1, 2, 3], (n) => [n % 2]), [{ key: 1, number: 2 }, { key: 0, number: 1 }]);
  const rows = hours([{ evaluated_at: "2026-01-01T10:30:00Z", verdict: "deny" }], Date.parse("2026-01-01T11:00:00Z"));
  assert.equal(rows.length, 24);
  assert.equal(rows[22].deny, 1);
});

test("differences", () => {
  assert.deepEqual(differences({ a: 1, b: { c: 2 } }, { a: 1, b: { c: 3 }, d: 4 }).map((one) => one.path), ["b.c", "d"]);
  assert.deepEqual(differences([{ id: "x", v: 1 }], [{ id: "y", v: 1 }, { id: "x", v: 2 }]).map((one) => one.path), ["[x].v", "[y]"]);
  assert.deepEqual(differences({ a: [1] }, { a: [1] }), []);
  const twice = [{ id: "x", v: 1 }, { id: "x", v: 2 }];
  assert.deepEqual(differences({ r: [{ id: "x" }, { id: "y" }] }, { r: [{ id: "y" }, { id: "new" }, { id: "x" }] }).map((one) => one.path),
    ["r[new]", "r (order)"], "an order is a difference");
  assert.notDeepEqual(differences(twice, [{ id: "x", v: 3 }, { id: "x", v: 2 }]), [], "a hidden twin");
});

test("what ends next", () => {
  const rows = endings({ trust: { keys: [{ purpose: "signer", identity: "eva", not_after: "2027-01-01T00:00:00Z" }, { purpose: "operator", identity: "x",
    not_after: "2026-01-01T00:00:00Z", revoked: {} }] }, nodes: [{ state: "ended", node: "n", expires_at: "2026-01-01T00:00:00Z" }],
  metrics: "x 1\ntls_certificate_expiry_timestamp_seconds 1.8e9\n" });
  assert.deepEqual(rows.map((row) => row.what), ["key (signer)", "TLS certificate"]);
});

test("what ends next: an enrolment that is renewed as usual is left out", () => {
  const node = { state: "enrolled", node: "n", enrolled_at: "2026-01-01T00:00:00Z", expires_at: "2026-01-02T00:00:00Z" };
  const at = (now, change) => endings({ nodes: [{ ...node, ...change }], now: Date.parse(now) }).length;
  assert.deepEqual([at("2026-01-01T17:59:00Z"), at("2026-01-01T18:01:00Z"), at("2026-01-03T00:00:00Z")], [0, 1, 1]);
  assert.equal(at("2026-01-01T00:00:00Z", { enrolled_at: "?" }), 1, "a time that cannot be read hides no end");
});

test("a lineage of many paths is walked once", () => {
  // 4 levels of 100 nodes, each made from all of the level before: 100 million paths.
  const level = (depth) => [...Array(depth ? 100 : 1).keys()].map((i) => (depth ? 1 + 100 * (depth - 1) + i : 0));
  const edges = [0, 1, 2, 3].flatMap((depth) => level(depth).flatMap((to) => level(depth + 1).map((from) => ({ from, to }))));
  const began = Date.now();
  const walk = (node) => [node, ...node.children.flatMap(walk)];
  const placed = walk(treeOf(edges, "to", "from"));
  assert.equal(placed.filter((node) => !node.again).length, 401);
  assert.equal(placed.length, 1 + edges.length);
  assert.ok(Date.now() - began < 2000);
  const [start] = walk(treeOf([{ from: 1, to: 0 }, { from: 0, to: 1 }, { from: 2, to: 0 }], "to", "from", 1));
  assert.deepEqual([start.left, start.children[0].children[0].again], [1, true], "a cut says so, a cycle ends");
});

test("changes in words: nothing of what is signed is left out", () => {
  const secret = "must be shown";
  const texts = inWords(TRUST_CHANGE, { sequence: 1, operations: [{ revoke_key: { key: "k", reason: "lost", extra: secret } }, { unheard_of: { a: secret } }] });
  assert.deepEqual(texts.map((text) => text.includes(secret)), [true, true, false]);
  assert.throws(() => inWords(TRUST_CHANGE, {}));
  assert.throws(() => inWords(TRUST_CHANGE, { sequence: 1, operations: [{ remove_principal: { name: "a" }, hidden: 1 }] }));
});

test("changes: what they replace, and what is asked of impact", () => {
  const change = (...operations) => ({ sequence: 1, operations });
  const trust = { keys: [], principals: [{ name: "ci", roles: ["reader"] }], appraisals: [{ evidence_type: "tdx", policy: 1 },
    { evidence_type: "tdx", stage: "train", policy: 2 }] };
  const put = { put_principal: { name: "ci", roles: ["reader", "admin"], credentials: [1] } };
  assert.deepEqual(standing(trust, change(put, { put_principal: { name: "new", roles: [] } })),
    [[trust.principals[0], { name: "ci", roles: ["reader", "admin"] }, "put_principal ci"]]);
  assert.deepEqual(replaced(trust, change(put, { put_principal: { name: "new" } }, { revoke_key: { key: "k" } })),
    ['the credentials of "ci" are replaced by those above']);
  assert.equal(standing(trust, change({ put_appraisal: { evidence_type: "tdx", stage: "train" } }))[0][0].policy, 2);
  assert.deepEqual(hypothesisOf(TRUST_CHANGE, change({ revoke_key: { key: "k" } }, { revoke_node: { node: "n" } })),
    { revoke_keys: ["k"], revoke_nodes: ["n"] });
  assert.equal(hypothesisOf(TRUST_CHANGE, change(put)), null);
});
