// SPDX-License-Identifier: Apache-2.0
// Model: its releases and signers, evaluations with their values, approvals, what it was made from, where
// it was admitted, where it was verified, and what is known of it in memory.
import { all, get, getText } from "./api.js";
import { asked } from "./asked.js";
import { badge, cut, field, form, h, id, link, named, part, table, when } from "./dom.js";
import { parseEnvelope } from "./dsse.js";
import { count, list } from "./format.js";
import { write } from "./fragment.js";
import { treeOf } from "./lineage_tree.js";
import { reasons, sentence } from "./reasons.js";

export const title = "Model";
const MOST_READ = 30; // envelopes whose values are shown at once
const DEPTH = 4;

const signers = (row) =>
  row.signers.map((one, i) => [
    i ? ", " : "",
    h("span", { title: one.key_id }, one.identity),
    one.revoked_at ? [" ", badge("key revoked", "bad")] : "",
  ]);
const state_of = (row) => (row.withdrawn ? badge("withdrawn", "bad") : "");

async function byName(name) {
  const { items, more } = await all("/v1/manifests", { name }, 1000);
  const releases = table(
    `Releases of ${name}`,
    [
      { title: "Accepted", cell: (row) => when(row.accepted_at) },
      { title: "Artifact", cell: (row) => link("model", { artifact: row.artifact }, id(row.artifact)) },
      { title: "Signed by", cell: signers },
      { title: "", cell: state_of },
    ],
    items.reverse(),
    "no manifest has this name.",
  );
  return h("div", {}, releases, cut(0, more));
}

// The values that a statement states, out of its envelope.
async function stated(row) {
  const envelope = parseEnvelope(await getText(`/v1/documents/${row.envelopes.at(-1)}`));
  const said = envelope.document?.predicate ?? {};
  const metrics = Object.entries(said.metrics ?? {}).map(
    ([name, { value, unit }]) => `${name} = ${value}${unit === "1" ? "" : " " + unit}`,
  );
  return [...metrics, said.comment ?? ""].filter(Boolean);
}

async function statements(model) {
  const read = await Promise.all(
    model.attestations
      .slice(0, MOST_READ)
      .map((row) =>
        stated(row).catch((error) => [
          error.code === "forbidden" ? "(values need the role auditor)" : `(cannot be read: ${error.message})`,
        ]),
      ),
  );
  const rows = model.attestations.map((row, i) => ({ ...row, said: read[i] ?? ["(not read)"] }));
  const columns = [
    { title: "Accepted", cell: (row) => when(row.accepted_at) },
    { title: "Stage", cell: (row) => row.stage || row.predicate_type },
    { title: "Signed by", cell: signers },
    { title: "Says", cell: (row) => row.said.map((text) => h("div", {}, text)) },
    {
      title: "Evidence",
      cell: (row) =>
        (row.evidence ?? []).map((one) => [
          badge(one.accepted ? "measured" : "refused", one.accepted ? "good" : "bad"),
          " ",
          one.tcb_status ?? "",
        ]),
    },
    { title: "", cell: state_of },
  ];
  const is =
    (...stages) =>
    (row) =>
      stages.includes(row.stage);
  const rest = rows.filter((row) => !is("evaluate", "approve")(row));
  return [
    table("Evaluations", columns, rows.filter(is("evaluate")), "nobody evaluated it."),
    table("Approvals", columns, rows.filter(is("approve")), "nobody approved it."),
    table("Other statements", columns, rest, "none."),
  ];
}

function lineageNode(graph, { position, edge, again, children, left }) {
  const node = graph.nodes[position];
  const digest = node.digests.find((one) => one.startsWith("assay-tree")) ?? node.digests[0] ?? "";
  const name = node.names[0] ?? "";
  const label =
    digest.startsWith("assay-tree") && position !== 0
      ? link("model", { artifact: digest }, name, " ", id(digest))
      : [name, " ", id(digest)];
  const marks = [
    node.missing ? badge("origin unknown", "warn") : "",
    node.cycle ? badge("made from itself", "bad") : "",
    again ? h("span", { class: "faint" }, "(stands elsewhere in this picture)") : "",
  ];
  const said = node.statements.map(
    (one) => `${one.stage ?? one.kind} by ${one.signers.map((signer) => signer.identity).join(", ")}`,
  );
  return h(
    "li",
    {},
    edge ? h("span", { class: "faint" }, `${edge.role}: `) : "",
    label,
    " ",
    marks,
    said.length && !again ? h("div", { class: "faint" }, list(said, 4, "; ")) : "",
    children.length
      ? h(
          "ul",
          { class: "tree" },
          children.map((child) => lineageNode(graph, child)),
        )
      : "",
    cut(left),
  );
}

async function lineage(artifact, direction) {
  const up = direction !== "down";
  const graph = await get(`/v1/models/${artifact}/lineage`, { direction: up ? "up" : "down", depth: DEPTH });
  const other = up ? ["down", "What was made from it"] : ["up", "What it was made from"];
  return [
    h(
      "p",
      {},
      up ? "What it was made from. " : "What was made from it. ",
      link("model", { artifact, direction: other[0] }, other[1]),
    ),
    h("ul", { class: "tree" }, lineageNode(graph, up ? treeOf(graph.edges, "to", "from") : treeOf(graph.edges, "from", "to"))),
    graph.reached.length
      ? h(
          "p",
          { class: "faint" },
          `The picture ends at a limit: ${graph.reached.join(", ")}. A link goes on from there.`,
        )
      : null,
  ];
}

async function admitted(artifact) {
  const [page, known] = await Promise.all([
    get("/v1/decisions", { subject: artifact, request: true, limit: 20, total: true }),
    reasons(),
  ]);
  const rows = page.items.map((one) => ({ ...asked(one), verdict: one.verdict }));
  return [
    table(
      "The newest decisions",
      [
        { title: "Time", cell: (row) => when(row.time) },
        {
          title: "Verdict",
          cell: (row) =>
            row.verdict === "allow"
              ? badge("allowed", "good")
              : [badge("refused", "bad"), " ", sentence(known, row.reasons)],
        },
        { title: "Pod", cell: (row) => named(row.pod) },
        { title: "User", cell: (row) => named(row.user) },
        { title: "Cluster", cell: (row) => row.cluster },
        { title: "Decision", cell: (row) => link("decision", { id: row.id }, "why") },
      ],
      rows,
      "nobody asked about it.",
    ),
    h("p", {}, link("refused", { model: artifact, verdict: "any" }, "All of them")),
  ];
}

async function verified(artifact) {
  const [jobs, nodes] = await Promise.all([get("/v1/jobs", { artifact, limit: 100 }), all("/v1/nodes", {}, 1000)]);
  const kinds = { verified: "good", mismatch: "bad", failed: "bad" };
  const memory = nodes.items.flatMap((node) =>
    node.instances.filter((one) => one.artifact === artifact).map((one) => ({ ...one, node: node.node })),
  );
  return [
    table(
      "Verified by nodes",
      [
        { title: "Created", cell: (job) => when(job.created_at) },
        { title: "Node", cell: (job) => job.node },
        { title: "Result", cell: (job) => badge(job.result ?? job.state, kinds[job.result] ?? "plain") },
        { title: "What", cell: (job) => `${job.scope}${job.location ? " at " + job.location : ""}` },
        { title: "Found", cell: (job) => job.detail?.differing ?? job.detail?.code ?? "" },
      ],
      jobs.items.reverse(),
      "no node was asked to.",
    ),
    cut(0, jobs.next),
    table(
      "In memory now",
      [
        {
          title: "State",
          cell: (one) => badge(one.state, { verified: "good", violated: "bad" }[one.state] ?? "plain"),
        },
        { title: "Node", cell: (one) => one.node },
        { title: "Pod", cell: (one) => one.pod },
        { title: "Instance", cell: (one) => one.instance },
        {
          title: "Findings",
          cell: (one) => one.findings.map((found) => h("div", {}, `${found.tensor}: ${found.detail}`)),
        },
      ],
      memory,
      "no node says that it holds it.",
    ),
    cut(0, nodes.more),
  ];
}

export async function show(body, state) {
  body.append(
    form(
      ({ what = "" }) => {
        location.hash = write("model", what.includes(":") ? { artifact: what } : { name: what });
      },
      field("Name or artifact id", "what", state.artifact ?? state.name),
      h("button", { type: "submit", class: "main" }, "Show"),
    ),
  );
  if (state.name) body.append(await byName(state.name));
  if (!state.artifact) {
    if (!state.name)
      body.append(
        h("p", { class: "lead" }, "A name such as acme/demo-llm lists its releases; an artifact id shows one of them."),
      );
    return;
  }
  const artifact = encodeURIComponent(state.artifact);
  const model = await get(`/v1/models/${artifact}`);
  const shown = model.manifests.length + model.attestations.length;
  const left = `Only ${count(shown)} statements about this model are here. assay search lists the others.`;
  if (model.truncated) body.append(h("p", { class: "failure" }, left));
  body.append(
    h(
      "dl",
      {},
      h("dt", {}, "Names"),
      h(
        "dd",
        {},
        model.names.map((name, i) => [i ? ", " : "", link("model", { name }, name)]),
      ),
      h("dt", {}, "Artifact"),
      h("dd", {}, h("code", {}, model.artifact)),
    ),
    table(
      "Manifests",
      [
        { title: "Accepted", cell: (row) => when(row.accepted_at) },
        { title: "Name", cell: (row) => row.name },
        { title: "Signed by", cell: signers },
        { title: "Kept at", cell: (row) => row.locations.map((place) => h("div", {}, place)) },
        { title: "", cell: state_of },
      ],
      model.manifests,
    ),
  );
  const parts = [
    part("What was stated about it", () => statements(model)),
    part("Lineage", () => lineage(artifact, state.direction)),
    part("Where it was asked for", () => admitted(state.artifact)),
    part("Verified and in memory", () => verified(state.artifact)),
  ];
  body.append(...parts.map((one) => one.element));
  await Promise.all(parts.map((one) => one.load()));
}
