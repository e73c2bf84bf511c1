// SPDX-License-Identifier: Apache-2.0
// How values look: pure functions from values to text.

// Characters that hide or reorder text: controls, those of direction, of no width, of tags, and halves
// of a surrogate pair.
const INVISIBLE = new RegExp(
  [
    "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202f]",
    "[\\u205f-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\ufff9-\\uffff]",
    "\\udb40[\\udc00-\\udfff]",
    "[\\ud800-\\udbff](?![\\udc00-\\udfff])",
    "(?<![\\ud800-\\udbff])[\\udc00-\\udfff]",
  ].join("|"),
  "g",
);
const LONGEST = 2000;

const escaped = (found) =>
  [...Array(found.length).keys()].map((i) => "\\u" + found.charCodeAt(i).toString(16).padStart(4, "0")).join("");

// A text of somebody else: what cannot be seen becomes visible, and its length has a limit.
export function visible(value, longest = LONGEST) {
  const text = typeof value === "string" ? value : value === undefined || value === null ? "" : String(value);
  const cut = text.length > longest ? text.slice(0, longest) + "\u2026" : text;
  return cut.replace(INVISIBLE, escaped);
}

// "sha256:0123456789ab...": enough to tell ids apart; the whole one is in the title and in the CSV.
export function shortId(id) {
  const text = visible(id);
  const found = /^(.*?)([0-9a-f]{12})[0-9a-f]{20,}$/.exec(text);
  return found ? found[1].replace("assay-tree-v1-sha256:", "") + found[2] + "\u2026" : text;
}

// "2026-11-29 22:13:17", of the reader's own clock when `local`, else UTC.
export function time(text, local = true) {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return visible(text);
  const shifted = local ? new Date(at.getTime() - at.getTimezoneOffset() * 60000) : at;
  return shifted.toISOString().slice(0, 19).replace("T", " ");
}

const UNITS = [
  ["d", 86400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];
// "in 3 d", "5 min ago".
export function relative(text, now) {
  const seconds = Math.round((new Date(text).getTime() - now) / 1000);
  if (Number.isNaN(seconds)) return "";
  const size = Math.abs(seconds);
  const [unit, length] = UNITS.find(([, one]) => size >= one) ?? UNITS[3];
  const amount = `${Math.floor(size / length)} ${unit}`;
  return seconds < 0 ? `${amount} ago` : `in ${amount}`;
}

// "1,234"
export const count = (number) => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");

// A moment of a filter: a length before now ("1d", "2h", "30m"), a date or an RFC 3339 time. Returns
// RFC 3339 in UTC, or null for anything else.
export function moment(text, now) {
  const length = /^(\d{1,4})([dhm])$/.exec(text.trim());
  if (length) {
    const unit = { d: 86400000, h: 3600000, m: 60000 }[length[2]];
    return new Date(now - Number(length[1]) * unit).toISOString();
  }
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.test(text.trim())) return null;
  const at = new Date(text.trim());
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

// The first of some values, and how many are left out: "a, b, c and 2 more".
export const list = (values, most = 3, between = ", ") =>
  values.slice(0, most).join(between) + (values.length > most ? ` and ${count(values.length - most)} more` : "");
