// SPDX-License-Identifier: Apache-2.0
#include "server/service/facts/artifact_facts.h"

#include "attestation/oms/statement.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "schemas/release.h"
#include "server/service/documents/outlines.h"
#include "server/service/documents/statement_row.h"
#include "server/service/facts/stage_evidence_facts.h"
#include "storage/lineage_reads.h"

namespace assay::server {
namespace {

// What is collected, and what is needed for it.
struct Collected {
  std::map<KeyId, TrustedKey> keys;  // of the trust store
  std::vector<policy::ManifestFact> manifests = {};
  std::vector<policy::StatementFact> statements = {};
  std::vector<policy::PlacementFact> placements = {};
  Envelopes envelopes = {};
  std::size_t rows = 0;
  std::optional<LeafIndex> newest = {};
  // Manifests of the artifact by the other digests that they name, such as "sha256:<hex>".
  std::map<std::string, std::vector<StatementId>> joins = {};

  [[nodiscard]] policy::Facts facts(const ArtifactId& artifact) {
    policy::Facts facts;
    facts.artifact = artifact;
    facts.manifests = std::move(manifests);
    facts.statements = std::move(statements);
    facts.placements = std::move(placements);
    return facts;
  }
};

// data-loss when a stored signature has a key that the trust store does not know.
Result<TrustedKey> key_of(const Collected& collected, const KeyId& id) {
  const auto key = collected.keys.find(id);
  if (key == collected.keys.end()) {
    return fail(ErrorCode::kDataLoss, "the key of a stored signature is missing", id.text());
  }
  return key->second;
}

// Nothing for a manifest of tensors alone, and for one that was accepted before formats were kept.
Result<std::optional<std::vector<ModelFormat>>> stored_formats(const Json& contents) {
  if (!contents.contains("formats")) {
    return std::nullopt;
  }
  std::vector<ModelFormat> formats;
  for (const Json& item : contents["formats"]) {
    ASSAY_ASSIGN(const ModelFormat format,
                 model_format_from(item.is_string() ? item.get<std::string>() : ""));
    formats.push_back(format);
  }
  return formats;
}

// What decisions read of a manifest's predicate was written beside it when it was accepted: its
// root was recomputed then, and entries are nobody's business here.
Result<policy::ManifestFact> manifest_fact(const storage::StatementRow& row,
                                           policy::StatementFact fact) {
  const auto contents = parse_json(row.contents);
  const bool readable = contents && contents->is_object() && contents->contains("parameters") &&
                        contents->contains("objects") && (*contents)["objects"].is_string();
  if (!readable) {
    return fail(ErrorCode::kDataLoss, "a stored manifest has no parameters");
  }
  ASSAY_ASSIGN(TreeParameters parameters, tree_parameters_from_json((*contents)["parameters"]));
  ASSAY_ASSIGN(const Objects objects,
               parse_objects((*contents)["objects"].get_ref<const std::string&>()));
  ASSAY_ASSIGN(auto formats, stored_formats(*contents));
  return policy::ManifestFact{std::move(fact), row.name, std::move(parameters),
                              row.locations,   objects,  std::move(formats)};
}

// The other digests that a manifest names. Two roots are two artifacts and never joined
// (docs/adr/0014-two-roots-are-never-one-thing.md).
void add_joins(const storage::StatementRow& row, const ArtifactId& artifact, Collected& collected) {
  if (row.subjects.empty() || row.subjects.front() != artifact.text()) {
    return;  // the artifact is not its own root
  }
  for (const std::string& subject : row.subjects) {
    if (subject.starts_with("sha256:")) {
      collected.joins[subject].push_back(row.id);
    }
  }
}

Status add_fact(storage::Snapshot& snapshot, const storage::StatementRow& row,
                const ArtifactId& artifact, Collected& collected) {
  const bool release = row.predicate_type == kReleasePredicateType;  // is about a name
  if (release || (row.kind == storage::StatementKind::kManifest && !is_current_manifest(row))) {
    return {};
  }
  ASSAY_ASSIGN(policy::StatementFact fact,
               statement_fact(row, [&](const KeyId& id) { return key_of(collected, id); }));
  ASSAY_ASSIGN(fact.withdrawn, withdrawn_fact(snapshot, row.id));
  if (row.predicate_type == kPlacementPredicateType) {
    collected.placements.push_back({std::move(fact), row.name, row.locations});
    return {};
  }
  if (row.kind != storage::StatementKind::kManifest) {
    ASSAY_ASSIGN(fact.names, names_in(row, artifact));
    ASSAY_ASSIGN(fact.evidence, stage_evidence_facts(snapshot, row.id));
    collected.envelopes.emplace(row.id, row.envelopes.front());
    collected.statements.push_back(std::move(fact));
    return {};
  }
  ASSAY_ASSIGN(policy::ManifestFact manifest, manifest_fact(row, std::move(fact)));
  add_joins(row, artifact, collected);
  collected.manifests.push_back(std::move(manifest));
  return {};
}

// Signatures of OpenSSF Model Signing are about a digest of their own (attestation/oms). They say
// which bytes somebody signed, under no name: only signers with a role for every name count.
Status add_joined(storage::Snapshot& snapshot, Collected& collected) {
  for (const auto& [digest, manifests] : collected.joins) {
    ASSAY_ASSIGN(const auto indexes, snapshot.lineage().about(digest));
    for (const LeafIndex index : indexes) {
      ASSAY_ASSIGN(const storage::StatementRow row, snapshot.statement_at(index));
      if (row.kind != storage::StatementKind::kAttestation ||
          row.predicate_type != attestation::oms::kPredicateType) {
        continue;
      }
      ASSAY_ASSIGN(policy::StatementFact fact,
                   statement_fact(row, [&](const KeyId& id) { return key_of(collected, id); }));
      ASSAY_ASSIGN(fact.withdrawn, withdrawn_fact(snapshot, row.id));
      fact.joined_by = manifests;
      collected.envelopes.emplace(row.id, row.envelopes.front());
      collected.statements.push_back(std::move(fact));
    }
  }
  return {};
}

// Rows about the artifact behind `after`.
Result<Collected> collect(storage::Snapshot& snapshot, const ArtifactId& artifact,
                          std::optional<LeafIndex> after) {
  Collected collected;
  ASSAY_ASSIGN(auto keys, snapshot.keys());
  for (TrustedKey& key : keys) {
    key.public_key.clear();  // signatures were verified when they came
    collected.keys.emplace(key.id, std::move(key));
  }
  collected.newest = after;
  ASSAY_ASSIGN(const auto indexes, snapshot.lineage().about(artifact.text()));
  for (const LeafIndex index : indexes) {
    if (after && index <= *after) {
      continue;
    }
    ASSAY_ASSIGN(const storage::StatementRow row, snapshot.statement_at(index));
    ASSAY_TRY(add_fact(snapshot, row, artifact, collected));
    ++collected.rows;
    collected.newest = index;
  }
  return collected;
}

// What was known, and what was added since, when that is all that changed: a statement raises the
// version by one at least, and so does one more signature on a statement that was there. Nothing
// when there is more than new statements.
Result<std::optional<ArtifactFacts>> add_newer(storage::Snapshot& snapshot,
                                               const ArtifactId& artifact,
                                               DecisionCache::Known& known, std::uint64_t version) {
  ASSAY_ASSIGN(Collected newer, collect(snapshot, artifact, known.newest));
  if (known.subject_version + newer.rows != version || known.joined_version ||
      !newer.joins.empty()) {
    return std::nullopt;
  }
  known.newest = newer.newest;
  const policy::Facts facts = newer.facts(artifact);
  ASSAY_ASSIGN(ArtifactFacts all, extend(*known.facts, facts, newer.envelopes));
  return all;
}

Result<ArtifactFacts> read_all(storage::Snapshot& snapshot, const ArtifactId& artifact,
                               DecisionCache::Known& known) {
  ASSAY_ASSIGN(Collected collected, collect(snapshot, artifact, {}));
  ASSAY_TRY(add_joined(snapshot, collected));
  known.joined_version.reset();
  if (!collected.joins.empty()) {
    ASSAY_ASSIGN(known.joined_version, snapshot.statements_version());
  }
  known.newest = collected.newest;
  policy::Facts facts = collected.facts(artifact);
  return share(std::move(facts), std::move(collected.envelopes));
}

}  // namespace

Result<std::shared_ptr<const ArtifactFacts>> artifact_facts(Services& services,
                                                            storage::Snapshot& snapshot,
                                                            const ArtifactId& artifact) {
  ASSAY_ASSIGN(const std::uint64_t version, snapshot.subject_version(artifact));
  ASSAY_ASSIGN(const storage::Epochs epochs, snapshot.epochs());
  const std::string id = artifact.text();
  const auto before = services.decisions.artifacts.find(id);
  const bool same_trust = before && before->epochs == epochs.trust;
  const bool joined = before && before->joined_version;
  ASSAY_ASSIGN(const std::uint64_t all, joined ? snapshot.statements_version() : 0);
  if (same_trust && before->subject_version == version &&
      (!joined || before->joined_version == all)) {
    return before->facts;
  }
  DecisionCache::Known known{version, epochs.trust, {}, nullptr, {}};
  std::optional<ArtifactFacts> collected;
  if (same_trust && before->subject_version < version) {
    known = *before;
    ASSAY_ASSIGN(collected, add_newer(snapshot, artifact, known, version));
  }
  if (!collected) {
    ASSAY_ASSIGN(collected, read_all(snapshot, artifact, known));
  }
  const std::size_t weight = 2 * (collected->statements.bytes() + collected->keys.bytes.size());
  known.subject_version = version;
  known.facts = std::make_shared<const ArtifactFacts>(*std::move(collected));
  services.decisions.artifacts.put(id, known, weight);
  return known.facts;
}

}  // namespace assay::server
