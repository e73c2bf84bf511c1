// SPDX-License-Identifier: Apache-2.0
// What a decision is about, as plain values. Whoever joins the folders (server, cli) collects facts
// from verified and stored documents; evaluation reads nothing else.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"
#include "schemas/trust.h"

namespace assay::policy {

// One verified signature on a statement.
struct SignerFact {
  TrustedKey key;  // with what the trust store says of it now
  // Time of the log entry that brought this signature: accepted_at of the statement for its first
  // envelope, later for signatures added later. A key that had expired by then never counts.
  Timestamp signed_at;
};

// A statement whose signatures were verified when it was accepted.
struct StatementFact {
  StatementId id;
  std::string predicate_type;
  std::string stage;  // of a lifecycle statement; empty otherwise
  Json predicate;     // null for a manifest (its values are in ManifestFact)
  std::vector<SignerFact> signers;
  Timestamp accepted_at;  // time of its log entry
  LeafIndex log_index;
};

struct ManifestFact {
  StatementFact statement;
  std::string name;
  TreeParameters parameters;
  std::vector<std::string> locations;
};

// The node that the workload goes to, as its enrolment and its newest accepted evidence say.
struct NodeFact {
  std::string name;
  Timestamp enrolled_at;
  Timestamp expires_at;
  std::optional<Revocation> revoked;
  bool worker_measured = false;           // the worker key is bound to accepted evidence
  std::optional<Timestamp> appraised_at;  // the rest is set exactly with this
  std::string evidence_type;
  std::string tcb_status;
  std::optional<Digest> anchor;  // SHA-256 of the root certificate
  bool anchor_is_vendor = false;
  std::optional<DocumentId> appraisal;  // the stored result
};

// A report of that node about the artifact, newest of its scope.
struct ReportFact {
  std::string job;
  std::string scope;
  std::string result;     // "verified", "mismatch" or "incomplete"
  std::string differing;  // what differs, for people: "model.safetensors bytes 0-1048576"
  Timestamp reported_at;  // time of its log entry
  bool worker_measured = false;
  bool device_attested = false;
  std::uint64_t spot_checks = 0;
  std::optional<DocumentId> report;
};

// Everything known about one artifact, and about the node when there is one.
struct Facts {
  std::optional<ArtifactId> artifact;     // absent when the reference could not be resolved
  std::vector<ManifestFact> manifests;    // of this artifact
  std::vector<StatementFact> statements;  // about this artifact
  // From bind on. Absent with a node name in the workload: nothing is known of it.
  std::optional<NodeFact> node;
  std::vector<ReportFact> reports;
};

// The workload that asks, as the match part of policies sees it.
struct Workload {
  std::string name_space;
  std::map<std::string, std::string> labels;
  std::vector<std::string> resources;  // names requested or limited by any container
  std::string node{};                  // empty before bind
};

// {"namespace","labels","resources"}, and "node" when there is one.
[[nodiscard]] Json to_json(const Workload& workload);
// Reads what to_json wrote. Errors as for facts.
[[nodiscard]] Result<Workload> workload_from_json(const Json& json);

// Canonical document of the facts: what is stored for replay. Public keys are left out, their ids,
// algorithms, identities, purposes, roles, validity and revocation are in. Facts that differ only
// in the order of manifests, statements, signers, roles, locations or reports have the same
// document. Without a node and without reports it has no members for them.
[[nodiscard]] Json to_json(const Facts& facts);
// Reads what to_json wrote (for replay). unknown-member, schema-violation and the errors of the
// values inside; `where` names the place.
[[nodiscard]] Result<Facts> facts_from_json(const Json& json);

}  // namespace assay::policy
