// SPDX-License-Identifier: Apache-2.0
// How two JSON documents differ, as paths with a value before and after. Pure.

const isObject = (value) => typeof value === "object" && value !== null;

// Members of a list that have an `id` or a `name` are compared by it, so that a new one in front is
// one difference.
const keyed = (list) =>
  list.every((item) => isObject(item) && typeof (item.id ?? item.name) === "string") &&
  new Set(list.map((item) => item.id ?? item.name)).size === list.length;
const table = (value) =>
  Array.isArray(value) && keyed(value)
    ? Object.fromEntries(value.map((item) => [`[${item.id ?? item.name}]`, item]))
    : Object.fromEntries(
        Object.entries(value).map(([key, item]) => [Array.isArray(value) ? `[${key}]` : `.${key}`, item]),
      );

// Members of keyed lists that both have, when their order is another one.
function moved(before, after, path) {
  if (!Array.isArray(before) || !keyed(before) || !keyed(after)) return [];
  const names = [before, after].map((list) => list.map((item) => item.id ?? item.name));
  const order = names.map((own, i) => own.filter((name) => names[1 - i].includes(name)));
  const same = order[0].every((name, i) => name === order[1][i]);
  return same ? [] : [{ path: `${path.replace(/^\./, "")} (order)`, before: order[0], after: order[1] }];
}

export function differences(before, after, path = "") {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isObject(before) || !isObject(after) || Array.isArray(before) !== Array.isArray(after)) {
    return [{ path: path.replace(/^\./, "") || "document", before, after }];
  }
  const [old, fresh] = [table(before), table(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(fresh)])];
  return [...names.flatMap((key) => differences(old[key], fresh[key], path + key)), ...moved(before, after, path)];
}
