// SPDX-License-Identifier: Apache-2.0
#include "server/service/references/publishers.h"

#include <algorithm>

#include "server/service/documents/outlines.h"
#include "server/service/documents/statement_row.h"

namespace assay::server {
namespace {

using storage::StatementKind;
using storage::StatementRow;

// The row alone, as a manifest, or as a placement of its first subject. The signers of a release
// are judged as those of a placement: as publishers of its name.
Result<policy::Facts> facts_of(storage::Snapshot& snapshot, const StatementRow& row) {
  policy::Facts facts;
  ASSAY_ASSIGN(policy::StatementFact fact,
               statement_fact(row, [&](const KeyId& id) { return snapshot.key(id); }));
  ASSAY_ASSIGN(fact.withdrawn, withdrawn_fact(snapshot, row.id));
  if (row.kind == StatementKind::kManifest) {
    facts.manifests.push_back({std::move(fact), row.name, {}, row.locations});
  } else {
    ASSAY_ASSIGN(facts.artifact, ArtifactId::parse(row.subjects.front()));
    facts.placements.push_back({std::move(fact), row.name, row.locations});
  }
  return facts;
}

}  // namespace

Publishers::Publishers(std::span<const policy::ActivePolicy> policies,
                       const policy::Workload& workload, DecisionPoint point) {
  for (const PolicyMode mode : {PolicyMode::kEnforce, PolicyMode::kWarn}) {
    bool selected = false;
    for (const policy::ActivePolicy& policy : policies) {
      const PolicyDocument& document = policy.document;
      if (document.mode != mode || !policy::matches(document.match, workload, point)) {
        continue;
      }
      selected = true;
      auto demands = policy::publisher_demands(document);
      if (document.names.rule != NameRule::kOnlyArtifact) {
        naming_.push_back({&document.names, document.name,
                           demands.empty() ? std::nullopt : std::optional(asked_.size())});
      }
      if (!demands.empty()) {
        asked_.push_back({std::move(demands), document.mounts == MountRule::kWithin});
      }
    }
    if (selected) {
      return;
    }
  }
}

bool Publishers::may_count(const TrustedKey& key, Timestamp now) {
  return key.purpose == KeyPurpose::kPublisher &&
         !(is_revoked(key, Timestamp::min()) && key.revoked->at <= now);
}

bool Publishers::may_believe(const TrustedKey& key, Timestamp now) const {
  const auto lists = [&](const ManifestCondition* demand) {
    const auto& listed = demand->signers.identities;
    return listed.empty() || std::find(listed.begin(), listed.end(), key.identity) != listed.end();
  };
  return may_count(key, now) &&
         (asked_.empty() || std::any_of(asked_.begin(), asked_.end(), [&](const Asked& asked) {
            return std::any_of(asked.demands.begin(), asked.demands.end(), lists);
          }));
}

bool Publishers::resolves_like(const Publishers& other) const {
  const auto same_demand = [](const ManifestCondition* a, const ManifestCondition* b) {
    return a->signers.at_least == b->signers.at_least &&
           std::ranges::is_permutation(a->signers.identities, b->signers.identities);
  };
  const auto same_asked = [&](const Asked& a, const Asked& b) {
    return a.within == b.within && std::ranges::equal(a.demands, b.demands, same_demand);
  };
  const auto same_naming = [](const Naming& a, const Naming& b) {
    return *a.names == *b.names && a.asked == b.asked;
  };
  return std::ranges::equal(asked_, other.asked_, same_asked) &&
         std::ranges::equal(naming_, other.naming_, same_naming);
}

Result<Word> Publishers::hear(storage::Snapshot& snapshot, const StatementRow& row,
                              Timestamp now) const {
  if (row.kind == StatementKind::kManifest && !is_current_manifest(row)) {
    return Word{};
  }
  ASSAY_ASSIGN(const policy::Facts facts, facts_of(snapshot, row));
  const policy::JudgedFacts judged = policy::judge_signers(facts, now);
  const policy::JudgedStatement& statement = row.kind == StatementKind::kManifest
                                                 ? judged.manifest_statements.front()
                                                 : judged.placement_statements.front();
  Word word{.trusted = statement.has_signer()};
  word.believed = word.within = word.trusted && asked_.empty();
  for (const Asked& asked : asked_) {
    const bool meets = policy::meets(statement, asked.demands) == Outcome::kPass;
    word.by.push_back(meets);
    word.believed = word.believed || meets;
    word.within = word.within || (meets && asked.within);
  }
  return word;
}

}  // namespace assay::server
