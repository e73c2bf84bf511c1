// SPDX-License-Identifier: Apache-2.0
// Decisions of a list as people see them: who asked about which pod, from which cluster.

// Admission reviews name user, object and, as principal, the cluster's API server; a request by
// POST /v1/decisions names its caller.
export function asked(decision) {
  const request = decision.request ?? {};
  const review = typeof request.via === "string" && request.via.startsWith("admission");
  // A model that was not found has the name that was asked for, and no artifact.
  const models = decision.models?.length ? decision.models : (request.asked ?? []).map((one) => ({ name: one }));
  const name = request.name || request.uid || request.pod_uid || "";
  return {
    time: decision.evaluated_at,
    pod: [request.namespace ?? decision.namespace, name].filter(Boolean).join("/"),
    kind: request.kind ?? "",
    user: request.user ?? (review ? "" : (request.principal ?? "")),
    cluster: request.cluster ?? (review ? (request.principal ?? "") : ""),
    models: models.map((model) => model.name || model.artifact),
    artifacts: models.map((model) => model.artifact ?? ""),
    point: decision.point,
    reasons: decision.reasons,
    id: decision.id,
  };
}

// Counts of equal keys, the largest first.
export function tally(items, keysOf) {
  const counts = new Map();
  for (const item of items) {
    for (const key of new Set(keysOf(item))) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, number]) => ({ key, number })).sort((a, b) => b.number - a.number);
}

// Hours of a day as {start, allow, deny}, the oldest first.
export function hours(decisions, now, many = 24) {
  const hour = 3600000;
  const last = Math.floor(now / hour);
  const rows = [...Array(many).keys()].map((i) => ({
    start: new Date((last - many + 1 + i) * hour),
    allow: 0,
    deny: 0,
  }));
  for (const decision of decisions) {
    const row = rows[Math.floor(new Date(decision.evaluated_at).getTime() / hour) - last + many - 1];
    if (row) row[decision.verdict] += 1;
  }
  return rows;
}
