// SPDX-License-Identifier: Apache-2.0
// Signed changes in words. Pure. A member that has no words here is shown as it is: nothing of what is
// signed is left out.

const rest = (value, told) => {
  const left = Object.entries(value).filter(([key]) => !told.includes(key));
  return left.length ? `; ${left.map(([key, one]) => `${key}: ${JSON.stringify(one)}`).join(", ")}` : "";
};

const OPERATIONS = {
  add_key: (v) =>
    `trust the ${v.purpose} key of ${v.identity} from ${v.not_before} to ${v.not_after}` +
    rest(v, ["purpose", "identity", "not_before", "not_after"]),
  revoke_key: (v) =>
    `revoke the key ${v.key}: ${v.reason}` +
    (v.since ? `; what was logged before ${v.since} counts on` : "; none of its signatures count any more") +
    rest(v, ["key", "reason", "since"]),
  put_principal: (v) => `let ${v.name} call as ${(v.roles ?? []).join(", ")}` + rest(v, ["name", "roles"]),
  remove_principal: (v) => `take away the access of ${v.name}` + rest(v, ["name"]),
  put_appraisal: (v) => `appraise evidence of type ${v.evidence_type} by this policy` + rest(v, ["evidence_type"]),
  revoke_node: (v) => `end the node ${v.node} for good: ${v.reason}` + rest(v, ["node", "reason"]),
  put_registration: (v) => `let ${v.principal} enrol the node ${v.node}` + rest(v, ["principal", "node"]),
  remove_registration: (v) => `remove the registration ${v.id} and end what enrolled under it` + rest(v, ["id"]),
  withdraw_statement: (v) => `withdraw the statement ${v.statement}: ${v.reason}` + rest(v, ["statement", "reason"]),
  put_reference_values: (v) => `import reference values for ${v.evidence_type}` + rest(v, ["evidence_type"]),
  remove_reference_values: (v) =>
    `stop to count the reference values ${v.tag_id}: ${v.reason}` + rest(v, ["tag_id", "reason"]),
  put_trusted_root: (v) => `trust the sigstore root ${v.name}` + rest(v, ["name"]),
};

export const TRUST_CHANGE = "application/vnd.assay.trust-change+json";
export const POLICY = "application/vnd.assay.policy+json";
export const APPROVAL = "application/vnd.assay.policy-approval+json";

// What a document does, one line each. Throws for a document that has not the form of its type.
export function inWords(type, document) {
  if (type === TRUST_CHANGE) {
    const said = document.operations.map((operation) => {
      const [[name, value], ...others] = Object.entries(operation);
      if (others.length) throw new Error("an operation of the change has several members");
      return Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name](value) : `${name}: ${JSON.stringify(value)}`;
    });
    return [...said, `as change number ${document.sequence}` + rest(document, ["operations", "sequence"])];
  }
  if (type === APPROVAL) {
    return [
      `${document.action === "activate" ? "put in force" : "take out of force"} the policy ${document.policy}` +
        rest(document, ["action", "policy"]),
    ];
  }
  if (type === POLICY) return [`the policy ${document.name}, version ${document.version}, in mode ${document.mode}`];
  return [JSON.stringify(document)];
}

// What to suppose when people ask what the document would change; null where nothing can be supposed.
export function hypothesisOf(type, document) {
  if (type === POLICY) return { activate: [document] };
  if (type !== TRUST_CHANGE) return null;
  const of = (name, member) => document.operations.map((one) => one[name]?.[member]).filter(Boolean);
  const lists = {
    revoke_keys: of("revoke_key", "key"),
    revoke_nodes: of("revoke_node", "node"),
    withdraw_statements: of("withdraw_statement", "statement"),
  };
  const wanted = Object.entries(lists).filter(([, list]) => list.length);
  return wanted.length ? Object.fromEntries(wanted) : null;
}

// What a change of trust replaces, as [before, after, caption]. The service shows no credentials, so they
// are left out here; replaced() tells of them.
export function standing(trust, document) {
  const entry = (list, member, value) =>
    (trust[list] ?? []).find((one) => one[member] === value[member] && one.stage === value.stage);
  const places = {
    add_key: ["keys", "id"],
    put_principal: ["principals", "name"],
    put_registration: ["registrations", "id"],
    put_appraisal: ["appraisals", "evidence_type"],
  };
  return document.operations.flatMap((operation) => {
    const [[name, value]] = Object.entries(operation);
    const [list, member] = Object.hasOwn(places, name) ? places[name] : [];
    const before = list && entry(list, member, value);
    const { credentials, ...after } = value;
    return before ? [[before, after, `${name} ${value[member]}`]] : [];
  });
}

// What a change of trust replaces that the service does not show, one line each.
export const replaced = (trust, document) =>
  document.operations
    .map((operation) => operation.put_principal?.name)
    .filter((name) => (trust.principals ?? []).some((one) => one.name === name))
    .map((name) => `the credentials of "${name}" are replaced by those above`);

// Where an envelope of this type is posted, and which purpose of key must sign it.
export const PLACES = {
  [TRUST_CHANGE]: { path: () => "/v1/trust/changes", purpose: "operator", needed: 2 },
  [POLICY]: { path: () => "/v1/policies", purpose: "author", needed: 1 },
  [APPROVAL]: {
    path: ({ policy, action }) =>
      `/v1/policies/${encodeURIComponent(policy)}:${action === "deactivate" ? "deactivate" : "activate"}`,
    purpose: "approver",
    needed: 1,
  },
};
