// SPDX-License-Identifier: Apache-2.0
// Why a condition does not pass, in a sentence: the table of the service (schemas/reason_codes.def).
import { get } from "./api.js";
import { h } from "./dom.js";

let table = null;

export async function reasons() {
  table ??= get("console/reasons.json").catch((error) => {
    table = null;
    throw error;
  });
  return table;
}

// The first reason in a sentence, the codes behind it.
export function sentence(known, codes) {
  if (codes.length === 0) return "no reason is given";
  const title = Object.hasOwn(known, codes[0]) ? known[codes[0]].title : codes[0];
  return h("div", { class: "sentence" }, title, " ", h("code", {}, codes.join(", ")));
}
