// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/collect.h"

#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "server/service/documents/outlines.h"
#include "server/service/documents/statement_row.h"

namespace assay::server {
namespace {

// What is collected, and what is needed for it.
struct Collected {
  std::map<KeyId, TrustedKey> keys;  // of the trust store
  std::vector<policy::ManifestFact> manifests = {};
  std::vector<policy::StatementFact> statements = {};
  std::vector<policy::PlacementFact> placements = {};
  Envelopes envelopes = {};
};

// data-loss when a stored signature has a key that the trust store does not know.
Result<TrustedKey> key_of(const Collected& collected, const KeyId& id) {
  const auto key = collected.keys.find(id);
  if (key == collected.keys.end()) {
    return fail(ErrorCode::kDataLoss, "the key of a stored signature is missing", id.text());
  }
  return key->second;
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
  return policy::ManifestFact{std::move(fact), row.name, std::move(parameters), row.locations,
                              objects};
}

Status add_fact(const storage::StatementRow& row, Collected& collected) {
  if (row.kind == storage::StatementKind::kManifest && !is_current_manifest(row)) {
    return {};
  }
  ASSAY_ASSIGN(policy::StatementFact fact,
               statement_fact(row, [&](const KeyId& id) { return key_of(collected, id); }));
  if (row.predicate_type == kPlacementPredicateType) {
    collected.placements.push_back({std::move(fact), row.name, row.locations});
    return {};
  }
  if (row.kind != storage::StatementKind::kManifest) {
    collected.envelopes.emplace(row.id, row.envelopes.front());
    collected.statements.push_back(std::move(fact));
    return {};
  }
  ASSAY_ASSIGN(policy::ManifestFact manifest, manifest_fact(row, std::move(fact)));
  collected.manifests.push_back(std::move(manifest));
  return {};
}

Result<ArtifactFacts> collect(storage::Snapshot& snapshot, const ArtifactId& artifact) {
  Collected collected;
  ASSAY_ASSIGN(auto keys, snapshot.keys());
  for (TrustedKey& key : keys) {
    key.public_key.clear();  // signatures were verified when they came
    collected.keys.emplace(key.id, std::move(key));
  }
  storage::StatementQuery query;
  query.subject = artifact.text();
  query.with_unanchored = true;
  query.bounds.limit = 1000;
  do {
    ASSAY_ASSIGN(const auto page, snapshot.statements(query));
    for (const storage::StatementRow& row : page.items) {
      ASSAY_TRY(add_fact(row, collected));
    }
    query.bounds.after = page.next;
  } while (query.bounds.after);
  policy::Facts facts;
  facts.artifact = artifact;
  facts.manifests = std::move(collected.manifests);
  facts.statements = std::move(collected.statements);
  facts.placements = std::move(collected.placements);
  return share(std::move(facts), std::move(collected.envelopes));
}

}  // namespace

Result<std::shared_ptr<const ArtifactFacts>> artifact_facts(Services& services,
                                                            storage::Snapshot& snapshot,
                                                            const ArtifactId& artifact) {
  ASSAY_ASSIGN(const std::uint64_t version, snapshot.subject_version(artifact));
  ASSAY_ASSIGN(const storage::Epochs epochs, snapshot.epochs());
  const std::string id = artifact.text();
  const auto known = services.decisions.artifacts.find(id);
  if (known && known->subject_version == version && known->epochs == epochs.trust) {
    return known->facts;
  }
  ASSAY_ASSIGN(ArtifactFacts collected, collect(snapshot, artifact));
  const std::size_t weight = 2 * (collected.statements.bytes() + collected.keys.bytes.size());
  auto facts = std::make_shared<const ArtifactFacts>(std::move(collected));
  services.decisions.artifacts.put(id, {version, epochs.trust, facts}, weight);
  return facts;
}

}  // namespace assay::server
