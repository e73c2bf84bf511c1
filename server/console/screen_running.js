// SPDX-License-Identifier: Apache-2.0
// Running: pods that were admitted and not deleted since, and what their nodes say about the models in
// their memory.
import { get } from "./api.js";
import { badge, button, failure, field, form, h, id, link, table, when } from "./dom.js";
import { count } from "./format.js";
import { write } from "./fragment.js";
import { reasons, sentence } from "./reasons.js";

export const title = "Running";
const PAGE = 100;
const KINDS = { running: "good", violated: "bad", admitted: "plain" };

const models = (pod) =>
  pod.models.map((artifact, i) => [i ? ", " : "", link("model", { artifact }, pod.names?.[i] || id(artifact))]);

const columns = [
  { title: "State", cell: (pod) => badge(pod.state, KINDS[pod.state] ?? "plain") },
  { title: "Pod", cell: (pod) => h("span", { title: pod.uid }, `${pod.namespace}/${pod.name}`) },
  { title: "Cluster", cell: (pod) => pod.cluster },
  { title: "Node", cell: (pod) => pod.node ?? "not known" },
  { title: "Model", cell: models },
  { title: "Last heard", cell: (pod) => when(pod.last_seen) },
  { title: "Admitted", cell: (pod) => when(pod.admitted_at) },
  {
    title: "Decision",
    cell: (pod) => (pod.decision ? link("decision", { id: pod.decision }, "why") : "no policy selected it"),
  },
];

function matches(state) {
  const text = state.text?.toLowerCase();
  return (pod) =>
    (!state.namespace || pod.namespace === state.namespace) &&
    (!text ||
      [pod.name, pod.uid, pod.cluster, pod.node ?? "", ...pod.models, ...pod.names]
        .join("\n")
        .toLowerCase()
        .includes(text));
}

// Which of them would be refused if they were asked about now.
async function affected(place) {
  place.replaceChildren(h("p", { role: "status" }, "Judging the pods again\u2026"));
  try {
    const known = await reasons();
    const answer = await get("/v1/pods/affected", { limit: PAGE });
    const kinds = [columns[0], columns[1], columns[4], { title: "Why", cell: (pod) => sentence(known, pod.reasons) }];
    place.replaceChildren(
      table("Would be refused now", kinds, answer.items, "every pod that was looked at would be admitted again."),
      h(
        "p",
        { class: "faint" },
        `${count(answer.examined)} pods looked at, ${count(answer.undecided)} undecided.` +
          (answer.next ? " There are more: assay impact goes on." : ""),
      ),
    );
  } catch (error) {
    place.replaceChildren(failure(error));
  }
}

export async function show(body, state, { every, current }) {
  const content = h("div", {}, h("p", { class: "empty" }, "Loading\u2026"));
  const again = h("div", {});
  const places = [""];
  body.append(
    h(
      "p",
      { class: "lead" },
      "Pods that the service admitted and that nobody reported as deleted. ",
      '"running": their node watches a model of theirs in memory. "violated": bytes of it changed.',
    ),
    form(
      (entered) => {
        location.hash = write("running", entered);
      },
      field("Namespace", "namespace", state.namespace),
      field("Pod, node, cluster or model contains", "text", state.text),
      h("button", { type: "submit", class: "main" }, "Filter"),
    ),
    content,
    again,
  );
  const load = async () => {
    try {
      const page = await get("/v1/pods", { limit: PAGE, after: places.at(-1) });
      if (!current() || (content.contains(document.activeElement) && content.querySelector("table"))) return;
      const rows = page.items.filter(matches(state));
      const turn = (change) => async () => {
        change();
        document.activeElement.blur();
        await load();
        content.querySelector(".scroll")?.focus();
      };
      const next = button(
        "Next page",
        turn(() => places.push(page.next)),
      );
      const back = button(
        "Page before",
        turn(() => places.pop()),
      );
      next.disabled = !page.next;
      back.disabled = places.length === 1;
      const hidden = page.items.length - rows.length;
      content.replaceChildren(
        table("Pods", columns, rows, "no pod matches on this page."),
        h(
          "div",
          { class: "row" },
          back,
          next,
          h(
            "span",
            { class: "faint" },
            `Page ${places.length}` + (hidden ? `; the filters hide ${count(hidden)} of this page` : ""),
          ),
          button("Which would be refused now?", () => affected(again)),
        ),
      );
    } catch (error) {
      content.replaceChildren(failure(error));
    }
  };
  await load();
  every(5, load);
}
