// SPDX-License-Identifier: Apache-2.0
// DSSE envelopes: reading them, and finding out which of some known keys signed one. The hint
// `keyid` is not looked at: nobody signs it.
import { concat, fromBase64, toText, utf8 } from "./bytes.js";

const CURVES = { "ecdsa-p256": ["P-256", "SHA-256", 32], "ecdsa-p384": ["P-384", "SHA-384", 48] };
const MAX_SIGNATURES = 32;

// Pre-authentication encoding, DSSE 1.0.
export const pae = (type, payload) => {
  const name = utf8(type);
  return concat(utf8(`DSSEv1 ${name.length} `), name, utf8(` ${payload.length} `), payload);
};

// Returns payloadType, payload (bytes), document (the payload as JSON) and signatures (bytes). JSON.parse
// takes a member that is there twice, which the service refuses.
export function parseEnvelope(text) {
  const json = JSON.parse(text);
  const list = json?.signatures;
  const isType = typeof json?.payloadType === "string" && json.payloadType !== "";
  if (!isType || !Array.isArray(list) || list.length === 0 || list.length > MAX_SIGNATURES) {
    throw new Error("not a DSSE envelope");
  }
  const payload = fromBase64(json.payload, true);
  const signatures = list.map((one) => {
    if (one?.sig === "" || !["string", "undefined"].includes(typeof (one?.keyid ?? undefined))) {
      throw new Error("a signature of the envelope is malformed");
    }
    return fromBase64(one?.sig, true);
  });
  const { payloadType } = json;
  return {
    payloadType,
    payload,
    signatures,
    get document() {
      return JSON.parse(toText(payload));
    },
  };
}

// ECDSA signatures are DER in our envelopes, r and s side by side in those of some others and in WebCrypto. Returns null for
// anything but one short-form DER sequence of two positive numbers that fit.
export function rawSignature(der, bytes) {
  let at = 0;
  const take = () => der[at++];
  if (take() !== 0x30) return null;
  const length = der[1] === 0x81 ? (at++, take()) : take();
  if (length !== der.length - at) return null;
  const out = new Uint8Array(2 * bytes);
  for (const end of [bytes, 2 * bytes]) {
    if (take() !== 0x02) return null;
    const size = take();
    let number = der.slice(at, at + size);
    at += size;
    if (!size || number.length !== size || number[0] & 0x80) return null;
    if (number[0] === 0) number = number.slice(1);
    if (number.length > bytes) return null;
    out.set(number, end - number.length);
  }
  return at === der.length ? out : null;
}

async function verifies(key, signature, message) {
  const spki = fromBase64(key.public_key);
  if (key.algorithm === "ed25519") {
    const made = await crypto.subtle.importKey("spki", spki, "Ed25519", false, ["verify"]);
    return crypto.subtle.verify("Ed25519", made, signature, message);
  }
  const [namedCurve, hash, bytes] = CURVES[key.algorithm];
  const raw = rawSignature(signature, bytes) ?? (signature.length === 2 * bytes ? signature : null);
  if (!raw) return false;
  const made = await crypto.subtle.importKey("spki", spki, { name: "ECDSA", namedCurve }, false, ["verify"]);
  return crypto.subtle.verify({ name: "ECDSA", hash }, made, raw, message);
}

export const canCheck = (key) => key.algorithm === "ed25519" || key.algorithm in CURVES;

// Returns those of `keys` (as GET /v1/trust shows them) that signed the envelope, each once, and how
// many signatures are by none of them.
export async function signersOf(envelope, keys) {
  const message = pae(envelope.payloadType, envelope.payload);
  const found = new Map();
  let unknown = 0;
  for (const signature of envelope.signatures) {
    let known = false;
    for (const key of keys.filter((one) => one.public_key && canCheck(one))) {
      if (await verifies(key, signature, message).catch(() => false)) {
        found.set(key.id, key);
        known = true;
        break;
      }
    }
    unknown += known ? 0 : 1;
  }
  return { keys: [...found.values()], unknown };
}
