// SPDX-License-Identifier: Apache-2.0
#include "server/service/lineage/steps.h"

#include <algorithm>
#include <utility>

#include "schemas/placement.h"
#include "schemas/release.h"
#include "server/service/documents/outlines.h"
#include "server/service/facts/stage_evidence_facts.h"
#include "storage/lineage_reads.h"

namespace assay::server {
namespace {

constexpr std::size_t kPage = 1000;
// Changes that are followed; after more everything is read again.
constexpr std::uint64_t kMaxChanges = 10'000;

Result<KeysById> keys_of(storage::Snapshot& snapshot) {
  ASSAY_ASSIGN(auto keys, snapshot.keys());
  KeysById by_id;
  for (TrustedKey& key : keys) {
    key.public_key.clear();  // signatures were verified when they came
    by_id.emplace(key.id, std::move(key));
  }
  return by_id;
}

bool is_of_lineages(const storage::StatementRow& row) {
  return row.kind == storage::StatementKind::kManifest
             ? is_current_manifest(row)
             : row.kind == storage::StatementKind::kAttestation &&
                   row.predicate_type != kPlacementPredicateType &&
                   row.predicate_type != kReleasePredicateType;
}

}  // namespace

Status for_newer(storage::Snapshot& view, std::optional<LeafIndex> after,
                 const std::function<bool(const storage::StatementRow&)>& look) {
  storage::StatementQuery query;
  query.with_unanchored = true;
  query.bounds.limit = kPage;
  query.bounds.after = after;
  do {
    ASSAY_ASSIGN(const auto page, view.statements(query));
    for (const storage::StatementRow& row : page.items) {
      if (!look(row)) {
        return {};
      }
    }
    query.bounds.after = page.next;
  } while (query.bounds.after);
  return {};
}

Result<StatementReader> StatementReader::open(storage::Snapshot& snapshot,
                                              std::function<Status()> check) {
  ASSAY_ASSIGN(KeysById keys, keys_of(snapshot));
  return StatementReader(snapshot, std::move(keys), std::move(check));
}

Result<policy::Lineage::Statements> StatementReader::about(const std::string& digest) {
  return read(digest, &storage::LineageReads::about, &storage::StatementRow::subjects);
}

Result<policy::Lineage::Statements> StatementReader::from(const std::string& digest) {
  return read(digest, &storage::LineageReads::from, &storage::StatementRow::inputs);
}

Result<policy::Lineage::Statements> StatementReader::read(const std::string& digest, List list,
                                                          Named named) {
  ASSAY_TRY(check_());
  ASSAY_ASSIGN(const auto indices, (snapshot_->lineage().*list)(digest));
  policy::Lineage::Statements statements;
  for (const LeafIndex index : indices) {
    ASSAY_ASSIGN(auto statement, at(index, digest, named));
    if (statement) {
      statements.push_back(std::move(statement));
    }
  }
  return statements;
}

Result<std::shared_ptr<const policy::LineageStatement>> StatementReader::at(
    LeafIndex index, const std::string& digest, Named named) {
  if (const auto known = known_.find(index); known != known_.end()) {
    return known->second;
  }
  ASSAY_TRY(check_());
  ASSAY_ASSIGN(const storage::StatementRow row, snapshot_->statement_at(index));
  const std::vector<std::string>& digests = row.*named;
  if (std::find(digests.begin(), digests.end(), digest) == digests.end()) {
    return fail(ErrorCode::kDataLoss, "an index names another statement than it should");
  }
  std::shared_ptr<const policy::LineageStatement> statement;
  if (is_of_lineages(row)) {
    ASSAY_ASSIGN(policy::LineageStatement read, lineage_statement(*snapshot_, row, keys_));
    if (policy::makes_subjects(read)) {
      ASSAY_ASSIGN(read.fact.evidence, stage_evidence_facts(*snapshot_, row.id));
    }
    statement = std::make_shared<const policy::LineageStatement>(std::move(read));
  }
  known_.emplace(index, statement);
  return statement;
}

Result<HeldSteps> HeldSteps::take(LineageSteps& steps, storage::Snapshot& snapshot) {
  HeldSteps held(steps);
  held.lock_ = std::unique_lock(steps.mutex, std::try_to_lock);
  if (held.lock_) {
    ASSAY_TRY(held.bring_up(snapshot));
  }
  return held;
}

// Everything is dropped but what surely is as it was.
Status HeldSteps::bring_up(storage::Snapshot& snapshot) {
  ASSAY_ASSIGN(const storage::Epochs epochs, snapshot.epochs());
  ASSAY_ASSIGN(const std::uint64_t evidence, snapshot.lineage().evidence_generation());
  ASSAY_ASSIGN(const std::uint64_t version, snapshot.statements_version());
  if (version < steps_->version) {
    lock_.unlock();  // an older snapshot: whoever has the newer one goes on with what is kept
    return {};
  }
  bool same = steps_->epochs == epochs.trust && steps_->evidence == evidence &&
              steps_->kept <= LineageSteps::kMaxKept;
  if (same && version != steps_->version) {
    ASSAY_ASSIGN(same, follow(snapshot, version));
  }
  if (!same) {
    steps_->about.clear();
    steps_->kept = 0;
  }
  steps_->version = version;
  steps_->evidence = evidence;
  steps_->epochs = epochs.trust;
  ASSAY_ASSIGN(steps_->newest, snapshot.newest_statement());
  return {};
}

// Forgets what is about the things that new and changed statements are about; false when there are
// too many.
Result<bool> HeldSteps::follow(storage::Snapshot& snapshot, std::uint64_t version) {
  std::uint64_t rises = 0;
  ASSAY_TRY(for_newer(snapshot, steps_->newest, [&](const storage::StatementRow& row) {
    forget(row);
    return ++rises < kMaxChanges;
  }));
  ASSAY_ASSIGN(const auto changed, snapshot.lineage().changes_since(steps_->version, kMaxChanges));
  for (const LeafIndex index : changed) {
    ASSAY_ASSIGN(const storage::StatementRow row, snapshot.statement_at(index));
    forget(row);
    ++rises;
  }
  return steps_->version + rises == version;
}

void HeldSteps::forget(const storage::StatementRow& row) {
  for (const std::string& subject : row.subjects) {
    if (const auto known = steps_->about.find(subject); known != steps_->about.end()) {
      steps_->kept -= known->second.size();
      steps_->about.erase(known);
    }
  }
}

Result<policy::Lineage::Statements> HeldSteps::about(StatementReader& reader,
                                                     const std::string& digest) {
  if (!lock_) {
    return reader.about(digest);
  }
  auto known = steps_->about.find(digest);
  if (known == steps_->about.end()) {
    ASSAY_ASSIGN(const auto read, reader.about(digest));
    std::vector<LineageStep> kept;
    for (const auto& statement : read) {
      kept.push_back({statement, std::make_shared<std::shared_ptr<const Part>>()});
    }
    steps_->kept += kept.size();
    known = steps_->about.emplace(digest, std::move(kept)).first;
  }
  policy::Lineage::Statements statements;
  statements.reserve(known->second.size());
  for (const LineageStep& step : known->second) {
    used_.emplace(step.statement.get(), step.part.get());
    statements.push_back(step.statement);
  }
  return statements;
}

Result<LineageFacts> HeldSteps::share(std::shared_ptr<const policy::Lineage> lineage) {
  return share_lineage(std::move(lineage), [this](const policy::LineageStatement& statement) {
    const auto used = used_.find(&statement);
    return used == used_.end() ? nullptr : used->second;
  });
}

}  // namespace assay::server
