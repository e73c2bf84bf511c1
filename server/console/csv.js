// SPDX-License-Identifier: Apache-2.0
// CSV of RFC 4180. A cell that a spreadsheet would take for a formula gets an apostrophe.

const FORMULA = /^[=+\-@\t\r\n]/;

export function cell(value) {
  const text = value === undefined || value === null ? "" : String(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const csv = (titles, rows) => [titles, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
