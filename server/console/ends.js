// SPDX-License-Identifier: Apache-2.0
// What ends next: keys, principals, enrolments, collateral, the certificate of TLS. Pure.
//
// A worker renews its enrolment when a half to three quarters of it are over. An enrolment ends as usual,
// and is left out, while a quarter of it is left.

const TLS = /^tls_certificate_expiry_timestamp_seconds(?:\{[^}]*\})? ([0-9.e+]+)$/m;

function isRenewed(node, now) {
  const [from, until] = [node.enrolled_at, node.expires_at].map((at) => new Date(at).getTime());
  return 4 * (until - now) >= until - from;
}

// Each source may be missing: not everybody may read every one.
export function endings({ trust, nodes = [], collateral = [], metrics = "", now }) {
  const rows = [];
  const add = (what, name, at) => {
    if (at) rows.push({ what, name, at });
  };
  for (const key of trust?.keys ?? []) {
    if (!key.revoked) add(`key (${key.purpose})`, key.identity, key.not_after);
  }
  for (const principal of trust?.principals ?? []) add("principal", principal.name, principal.not_after);
  for (const node of nodes) {
    const counts = node.state === "enrolled" || node.state === "violated";
    if (counts && !isRenewed(node, now)) add("enrolment", node.node, node.expires_at);
  }
  for (const part of collateral) add("collateral", part.name, part.next_update);
  const seconds = Number(TLS.exec(metrics)?.[1]);
  if (seconds > 0) add("TLS certificate", "of the listeners", new Date(seconds * 1000).toISOString());
  return rows.sort((a, b) => new Date(a.at) - new Date(b.at));
}

export function urgency(at, now) {
  const days = (new Date(at) - now) / 86400000;
  return days < 0 ? "bad" : days < 14 ? "warn" : "plain";
}
