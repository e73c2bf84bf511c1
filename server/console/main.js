// SPDX-License-Identifier: Apache-2.0
// Starts the console: which screen is shown, who is signed in, what is asked for again.
import { events, get, hasToken, useToken } from "./api.js";
import { button, failure, h, link, say } from "./dom.js";
import { parse } from "./fragment.js";
import * as change from "./screen_change.js";
import * as decision from "./screen_decision.js";
import * as model from "./screen_model.js";
import * as now from "./screen_now.js";
import * as proof from "./screen_proof.js";
import * as refused from "./screen_refused.js";
import * as report from "./screen_report.js";
import * as running from "./screen_running.js";

const screens = { now, refused, report, running, model, change, decision, proof };
const MENU = [
  ["now", "Now"],
  ["refused", "Refused"],
  ["running", "Running"],
  ["model", "Model"],
  ["change", "Change"],
  ["proof", "Proof"],
];
const main = document.getElementById("main");
let timers = [];
let shown = 0;

// Asks again while the page is looked at, one question at a time, until the screen of this turn is left.
// Ordinary polling: a call takes milliseconds of a thread of the pool, where a stream would hold the place
// of a connection for each open page.
const everyOf = (turn) => (seconds, load) => {
  let asking = false;
  const ask = async () => {
    if (asking || document.visibilityState !== "visible") return;
    asking = true;
    try {
      await load();
    } finally {
      asking = false;
    }
  };
  if (turn === shown) timers.push(setInterval(ask, seconds * 1000));
};

async function show() {
  const { screen, state } = parse(location.hash);
  const turn = ++shown;
  timers.forEach(clearInterval);
  timers = [];
  menu(screen);
  const title = screens[screen].title;
  const heading = h("h1", { tabindex: "-1", id: "title" }, title);
  const body = h("div", {});
  document.title = `${title} - Assay console`;
  main.setAttribute("aria-busy", "true");
  main.replaceChildren(heading, body);
  heading.focus({ preventScroll: true });
  window.scrollTo(0, 0);
  try {
    await screens[screen].show(body, state, { every: everyOf(turn), current: () => turn === shown });
  } catch (error) {
    if (turn === shown) body.append(failure(error));
  }
  if (turn === shown) main.setAttribute("aria-busy", "false");
}

function menu(screen) {
  document.getElementById("screens").replaceChildren(
    ...MENU.map(([name, text]) => {
      const item = link(name, {}, text);
      if (name === screen) item.setAttribute("aria-current", "page");
      return h("li", {}, item);
    }),
  );
}

function session(name) {
  const leave = button("Sign out", () => {
    useToken("");
    signIn("Signed out.");
  });
  document.getElementById("session").replaceChildren(h("span", { class: "faint" }, name, " "), hasToken() ? leave : "");
}

// Whoever has a credential may ask for the version: the one call that says whether it is accepted.
async function enter() {
  const { version } = await get("/version");
  session(`${hasToken() ? "token" : "client certificate"}, assayd ${version}`);
  await show();
}

function signIn(why) {
  shown++;
  timers.forEach(clearInterval);
  document.getElementById("session").replaceChildren();
  main.setAttribute("aria-busy", "false");
  const input = h("input", { id: "field-token", type: "password", autocomplete: "one-time-code", spellcheck: "false" });
  const problem = h("div", {});
  const submit = async (event) => {
    event.preventDefault();
    try {
      useToken(input.value.trim());
      input.value = "";
      await enter();
    } catch (error) {
      problem.replaceChildren(failure(error));
    }
  };
  const fields = h(
    "form",
    { id: "sign-in", on: { submit } },
    h("div", { class: "field" }, h("label", { for: "field-token" }, "Token"), input),
    h("button", { type: "submit", class: "main" }, "Sign in"),
  );
  const lead = h(
    "p",
    { class: "lead" },
    "The token stays in the memory of this page and goes when you close or reload " +
      "it. With a client certificate in your browser leave it empty. The roles reader and auditor see every screen.",
  );
  main.replaceChildren(h("h1", { tabindex: "-1" }, "Sign in"), h("p", { class: "lead" }, why), lead, fields, problem);
  document.title = "Sign in - Assay console";
  input.focus();
  say(why);
}

events.addEventListener("refused", () => {
  if (shown > 0 && !main.querySelector("#sign-in")) {
    signIn("The service does not accept the credential any more. Sign in again.");
  }
});
const offline = document.getElementById("offline");
events.addEventListener("offline", () => {
  offline.hidden = false;
});
events.addEventListener("online", () => {
  offline.hidden = true;
});
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", () => {
  if (!main.querySelector("#sign-in")) show();
});

menu(parse(location.hash).screen);
enter().catch((error) => signIn(error.status === 401 ? "This service wants to know who you are." : error.message));
