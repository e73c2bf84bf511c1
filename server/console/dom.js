// SPDX-License-Identifier: Apache-2.0
// Elements of the page. Whatever comes from the service becomes a text node or the value of a harmless
// attribute, and goes through visible() on its way.
import { count, shortId, time, visible } from "./format.js";
import { write } from "./fragment.js";

const ATTRIBUTES = new Set([
  "class",
  "id",
  "for",
  "type",
  "name",
  "title",
  "scope",
  "role",
  "tabindex",
  "value",
  "placeholder",
  "rows",
  "autocomplete",
  "spellcheck",
  "datetime",
  "download",
  "disabled",
  "list",
  "multiple",
  "selected",
  "checked",
  "hidden",
  "open",
  "colspan",
  "lang",
  "maxlength",
  "accept",
  "x",
  "y",
  "width",
  "height",
  "viewBox",
  "preserveAspectRatio",
]);
const MOST_LINES = 20000;
const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (ATTRIBUTES.has(name) || name.startsWith("aria-") || name.startsWith("data-")) {
      element.setAttribute(name, value === true ? "" : visible(value));
    } else {
      throw new Error(`no attribute of ours: ${name}`);
    }
  }
  element.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false)
      .map((child) => (child instanceof Node ? child : visible(child))),
  );
  return element;
}

export const h = (tag, properties = {}, ...children) => fill(document.createElement(tag), properties, children);
export const svg = (tag, properties = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), properties, children);

// A link within the console: there is no way to make another one.
export function link(screen, state, ...children) {
  const element = h("a", {}, ...children);
  element.setAttribute("href", write(screen, state));
  return element;
}

export const id = (value) => (value ? h("code", { title: visible(value) }, shortId(value)) : "");
export const when = (value) =>
  value ? h("time", { datetime: visible(value), title: visible(value) }, time(value)) : "";
export const button = (text, click, kind = "") => h("button", { type: "button", class: kind, on: { click } }, text);
// How a cut list says so, below it. `left` is how many rows are left out; `more` says that the service
// has some that were not read.
export function cut(left, more = false) {
  const text = [left > 0 ? `And ${count(left)} more.` : "", more ? "There are more on the server." : ""];
  return left > 0 || more ? h("p", { class: "faint" }, text.filter(Boolean).join(" ")) : null;
}
// JSON as a block that the keyboard can scroll. Only line breaks of its own layout stay such. A document
// of an envelope (1 MiB) may be cut; then the first line says so.
export function json(value) {
  const lines = JSON.stringify(value, null, 2).split("\n");
  const left = lines.length - MOST_LINES;
  const text = lines
    .slice(0, MOST_LINES)
    .map((line) => visible(line))
    .join("\n");
  return h(
    "div",
    {},
    left > 0 ? h("p", { class: "failure" }, `The last ${count(left)} lines of this document are not shown.`) : null,
    h("pre", { tabindex: "0", role: "region", "aria-label": "JSON" }, document.createTextNode(text)),
  );
}
// A name of its own line, which a narrow column does not cut into letters.
export const named = (text) => h("div", { class: "name" }, text);
export const badge = (text, kind) => h("span", { class: `badge ${kind}` }, text);

// A table with a caption, in a box that the keyboard can scroll. A column is {title, cell, csv?}.
export function table(caption, columns, rows, empty = "Nothing here.") {
  if (rows.length === 0) return h("p", { class: "empty" }, `${caption}: `, empty);
  const head = h(
    "tr",
    {},
    columns.map((column) => h("th", { scope: "col" }, column.title)),
  );
  const body = rows.map((row) =>
    h(
      "tr",
      {},
      columns.map((column) => h("td", {}, column.cell(row))),
    ),
  );
  return h(
    "div",
    { class: "scroll", role: "region", tabindex: "0", "aria-label": caption },
    h("table", {}, h("caption", {}, `${caption} (${count(rows.length)})`), h("thead", {}, head), h("tbody", {}, body)),
  );
}

// A field with its label.
export function field(label, name, value, options = {}) {
  const input = h(options.rows ? "textarea" : "input", {
    id: `field-${name}`,
    name,
    type: options.rows ? undefined : "text",
    autocomplete: "off",
    spellcheck: "false",
    ...options,
  });
  input.value = value ?? "";
  return h("div", { class: "field" }, h("label", { for: `field-${name}` }, label), input);
}

export function choice(label, name, value, options) {
  const select = h(
    "select",
    { id: `field-${name}`, name },
    options.map(([key, text]) => h("option", { value: key, selected: key === (value ?? "") }, text)),
  );
  return h("div", { class: "field" }, h("label", { for: `field-${name}` }, label), select);
}

// The values of a form that are not empty.
export const values = (form) =>
  Object.fromEntries(
    [...new FormData(form)].map(([key, value]) => [key, String(value).trim()]).filter(([, value]) => value),
  );

export const form = (submit, ...children) =>
  h(
    "form",
    {
      on: {
        submit: (event) => {
          event.preventDefault();
          submit(values(event.target));
        },
      },
    },
    ...children,
  );

// Saves a text as a file of the user's.
export function save(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = h("a", { download: name });
  anchor.href = url;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// Says something to people who do not look at the place where it happens.
export const say = (text) => {
  document.getElementById("said").textContent = visible(text);
};

const ADVICE = {
  forbidden: "Your roles do not allow this part.",
  unauthenticated: "The service does not accept this credential.",
  offline: "The service does not answer. The page tries again.",
};
export const failure = (error) =>
  h(
    "p",
    { class: "failure", role: "alert" },
    ADVICE[error.code] ?? "This part cannot be shown.",
    " ",
    h("span", { class: "detail" }, error.message),
  );

// A part of a screen that is filled when its data is there, and says itself when they are not. Returns
// {element, load}: load() fills it again, unless somebody works in it with the keyboard.
export function part(title, make) {
  const content = h("div", {}, h("p", { class: "empty" }, "Loading\u2026"));
  const element = h("section", { "aria-label": title }, h("h2", {}, title), content);
  const load = async () => {
    let fresh;
    try {
      fresh = await make();
    } catch (error) {
      fresh = failure(error);
    }
    const busy = content.contains(document.activeElement) && content.querySelector("table");
    if (!busy) content.replaceChildren(...[fresh].flat(Infinity).filter(Boolean));
  };
  return { element, load };
}
