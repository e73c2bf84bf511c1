// SPDX-License-Identifier: Apache-2.0
// The state of a screen lives in the fragment of the address, so that a link is a saved filter. Only
// the members named here get there: a token never does.

export const SCREENS = {
  now: [],
  refused: ["namespace", "reason", "pod", "user", "cluster", "model", "since", "until", "verdict"],
  report: ["since", "until"],
  running: ["text", "namespace"],
  model: ["name", "artifact", "direction"],
  change: ["policy", "event"],
  decision: ["id"],
  proof: ["decision", "index"],
};
const LONGEST = 512;

// Returns {screen, state}; an unknown screen is "now", an unknown or overlong member is left out.
export function parse(fragment) {
  const [, name = "", query = ""] = /^#?([^?]*)\??(.*)$/s.exec(fragment) ?? [];
  const screen = Object.hasOwn(SCREENS, name) ? name : "now";
  const state = {};
  for (const [key, value] of new URLSearchParams(query)) {
    if (SCREENS[screen].includes(key) && value !== "" && value.length <= LONGEST) state[key] = value;
  }
  return { screen, state };
}

export function write(screen, state = {}) {
  const query = new URLSearchParams();
  for (const key of SCREENS[screen]) {
    if (state[key] !== undefined && state[key] !== "") query.set(key, state[key]);
  }
  const text = query.toString();
  return `#${screen}${text && "?" + text}`;
}
