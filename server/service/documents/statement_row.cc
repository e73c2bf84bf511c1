// SPDX-License-Identifier: Apache-2.0
#include "server/service/documents/statement_row.h"

#include <algorithm>

#include "attestation/oms/statement.h"
#include "policy/statement_contents.h"
#include "schemas/core/json_at.h"
#include "schemas/lifecycle.h"
#include "server/service/documents/outlines.h"

namespace assay::server {
namespace {

storage::StatementRow row_of(const attestation::Envelope& envelope, storage::StatementKind kind) {
  return {.id = attestation::statement_id(envelope.payload_type, envelope.payload),
          .kind = kind,
          .payload_type = envelope.payload_type,
          .predicate_type = {},
          .stage = {},
          .name = {},
          .version = 0,
          .subjects = {},
          .inputs = {},
          .locations = {},
          .signers = {},
          .envelopes = {},
          .log_index = 0,
          .accepted_at = {},
          .contents = {},
          .bytes = envelope.payload.size()};
}

// With "<algorithm>:<value>" of every digest of its subjects; artifact ids in their text form.
storage::StatementRow row_of(const attestation::Envelope& envelope, storage::StatementKind kind,
                             const Statement& statement) {
  storage::StatementRow row = row_of(envelope, kind);
  row.predicate_type = statement.predicate_type;
  for (const Subject& subject : statement.subjects) {
    for (const auto& [algorithm, value] : subject.digest) {
      row.subjects.push_back(algorithm + ":" + value);
    }
  }
  return row;
}

}  // namespace

storage::StatementRow policy_row(const attestation::Envelope& envelope,
                                 const PolicyDocument& policy) {
  storage::StatementRow row = row_of(envelope, storage::StatementKind::kPolicy);
  row.name = policy.name;
  row.version = policy.version;
  return row;
}

storage::StatementRow reference_set_row(const attestation::Envelope& envelope,
                                        const ReferenceSet& set) {
  storage::StatementRow row = row_of(envelope, storage::StatementKind::kPolicy);
  row.name = set_entry(set.name);
  row.version = set.version;
  return row;
}

Result<storage::StatementRow> manifest_row(const attestation::Envelope& envelope,
                                           const Statement& statement, const Manifest& manifest) {
  storage::StatementRow row = row_of(envelope, storage::StatementKind::kManifest, statement);
  row.name = manifest.name;
  row.version = kManifestForm;
  ASSAY_ASSIGN(const ArtifactId own, artifact_id(manifest));
  std::stable_partition(row.subjects.begin(), row.subjects.end(),
                        [&own](const std::string& subject) { return subject == own.text(); });
  row.locations = manifest.locations;
  const std::vector<Entry>& entries = manifest.artifact.entries;
  Json contents = {{"parameters", to_json(manifest.artifact.parameters)},
                   {"objects", name(objects_of(entries))}};
  if (const auto formats = formats_of(entries)) {
    for (const ModelFormat format : *formats) {
      contents["formats"].push_back(name(format));
    }
  }
  ASSAY_ASSIGN(row.contents, canonical_json(contents));
  return row;
}

storage::StatementRow placement_row(const attestation::Envelope& envelope,
                                    const Statement& statement, const Placement& placement) {
  storage::StatementRow row = row_of(envelope, storage::StatementKind::kAttestation, statement);
  row.name = placement.name;
  row.locations = placement.locations;
  return row;
}

Result<storage::StatementRow> release_row(const attestation::Envelope& envelope,
                                          const Statement& statement, const Release& release) {
  storage::StatementRow row = row_of(envelope, storage::StatementKind::kAttestation, statement);
  row.name = release.name;
  ASSAY_ASSIGN(row.contents, canonical_json(statement.predicate));
  return row;
}

Result<storage::StatementRow> attestation_row(const attestation::Envelope& envelope,
                                              const Statement& statement, std::string stage) {
  storage::StatementRow row = row_of(envelope, storage::StatementKind::kAttestation, statement);
  row.stage = std::move(stage);
  // The name in a signature of OpenSSF Model Signing is that of a directory and binds nothing.
  Json contents =
      policy::contents_of(statement, statement.predicate_type == attestation::oms::kPredicateType);
  row.inputs = policy::add_lineage(statement, contents);
  ASSAY_ASSIGN(row.contents, canonical_json(contents));
  return row;
}

Result<std::vector<std::string>> names_in(const storage::StatementRow& row,
                                          const ArtifactId& artifact) {
  const Json contents = parse_json(row.contents).value_or(nullptr);
  const Json& names = member_at(member_at(contents, "names"), artifact.text());
  std::vector<std::string> found;
  for (const Json& name : names) {
    if (name.is_string()) {
      found.push_back(name.get<std::string>());
    }
  }
  if (!names.is_array() || found.empty() || found.size() != names.size()) {
    return fail(ErrorCode::kDataLoss, "a stored statement does not name its artifact");
  }
  return found;
}

Result<std::optional<StatementId>> superseded_by(const storage::StatementRow& row) {
  const Json contents = parse_json(row.contents).value_or(nullptr);
  if (!contents.is_object() || !contents.contains("version")) {
    return fail(ErrorCode::kDataLoss, "a stored release does not say what it follows");
  }
  if (!contents.contains("supersedes")) {
    return std::nullopt;
  }
  auto before = StatementId::parse(text_at(contents, "supersedes"));
  return before ? Result<std::optional<StatementId>>(*std::move(before))
                : fail(ErrorCode::kDataLoss, "a stored release does not say what it follows");
}

Result<std::optional<policy::WithdrawnFact>> withdrawn_fact(storage::Snapshot& snapshot,
                                                            const StatementId& id) {
  ASSAY_ASSIGN(const std::optional<Withdrawn> withdrawn, snapshot.withdrawal(id));
  if (!withdrawn) {
    return std::nullopt;
  }
  return policy::WithdrawnFact{withdrawn->reason, withdrawn->since, withdrawn->by,
                               withdrawn->by_operators};
}

Result<std::string> stage_of(const Statement& statement) {
  if (statement.predicate_type != kLifecyclePredicateType) {
    return std::string();
  }
  ASSAY_ASSIGN(const Lifecycle lifecycle, lifecycle_from(statement));
  return lifecycle.stage;
}

}  // namespace assay::server
