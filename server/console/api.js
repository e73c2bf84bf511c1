// SPDX-License-Identifier: Apache-2.0
// Calls of the API. The token is here and nowhere else: not in storage, in an address or in the page.
// Without one the browser shows its client certificate, when the user chose one.

const ROOT = new URL("..", import.meta.url);
const TIMEOUT_MS = 30000;
let token = "";

export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// Fires "refused" when the service takes the credential no more, "online" and "offline".
export const events = new EventTarget();
const tell = (name) => events.dispatchEvent(new Event(name));

export function useToken(text) {
  if (text && !/^[A-Za-z0-9._~+/=-]{1,512}$/.test(text)) throw new Error("this is no token of Assay");
  token = text;
}
export const hasToken = () => token !== "";

function address(path, query = {}) {
  const url = new URL(path.replace(/^\//, ""), ROOT);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  return url;
}

async function problem(response) {
  const json = await response.json().catch(() => ({}));
  const text = [json.title, json.detail].filter((part) => typeof part === "string").join(": ");
  return new ApiError(response.status, String(json.code ?? response.status), text || `status ${response.status}`);
}

async function send(path, query, init, accept) {
  const headers = { Accept: accept, ...init.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(address(path, query), {
      ...init,
      headers,
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch {
    tell("offline");
    throw new ApiError(0, "offline", "The service does not answer");
  }
  tell("online");
  if (response.ok) return response;
  const error = await problem(response);
  if (response.status === 401) {
    token = "";
    tell("refused");
  }
  throw error;
}

export const get = async (path, query) => (await send(path, query, {}, "application/json")).json();
export const getText = async (path) => (await send(path, {}, {}, "*/*")).text();
export const getBytes = async (path, accept = "*/*") =>
  new Uint8Array(await (await send(path, {}, {}, accept)).arrayBuffer());
export const post = async (path, body, type = "application/json") => {
  const init = { method: "POST", body, headers: { "Content-Type": type } };
  return (await send(path, {}, init, "application/json")).json();
};

// Gives the items of a list, page by page, until `most`. Returns {items, more}.
export async function all(path, query, most, progress = () => {}) {
  const items = [];
  let next = {};
  do {
    const page = await get(path, { ...query, ...next, limit: Math.min(1000, most - items.length) });
    items.push(...page.items);
    progress(items.length);
    next = page.next_cursor ? { cursor: page.next_cursor } : page.next ? { after: page.next } : null;
  } while (next && items.length < most);
  return { items, more: next !== null };
}
