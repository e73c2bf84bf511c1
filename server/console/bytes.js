// SPDX-License-Identifier: Apache-2.0
// Bytes as proofs need them: hex, base64, SHA-256. Every reader refuses what it cannot read.

export const utf8 = (text) => new TextEncoder().encode(text);

export function concat(...parts) {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export const equal = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);

export const toHex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export function fromHex(text) {
  if (typeof text !== "string" || !/^([0-9a-f]{2})*$/.test(text)) throw new Error("not lowercase hex");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

// Takes the canonical form alone. With `urlSafe` its letters may be those of either alphabet, as DSSE has it.
export function fromBase64(text, urlSafe = false) {
  const other = typeof text === "string" && /[-_]/.test(text);
  if (typeof text !== "string" || (other && (!urlSafe || /[+/]/.test(text)))) throw new Error("not base64");
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  let binary;
  try {
    binary = atob(standard);
  } catch {
    throw new Error("not base64");
  }
  if (btoa(binary) !== standard) throw new Error("not canonical base64");
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}

export const toText = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

export async function sha256(...parts) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", concat(...parts)));
}
