// SPDX-License-Identifier: Apache-2.0
#include "server/service/lineage/closure.h"

#include <algorithm>

#include "schemas/placement.h"
#include "schemas/release.h"
#include "server/service/documents/lineage_row.h"
#include "server/service/documents/outlines.h"
#include "server/service/references/resolve.h"

namespace assay::server {
namespace {

constexpr std::size_t kPage = 1000;
constexpr policy::LineageLimits kLimits = {};
// Nobody looks at more.
constexpr policy::LineageLimits kShownLimits = {.depth = 64, .digests = 2000, .statements = 2000};

Result<KeysById> keys_of(storage::Snapshot& snapshot) {
  ASSAY_ASSIGN(auto keys, snapshot.keys());
  KeysById by_id;
  for (TrustedKey& key : keys) {
    key.public_key.clear();  // signatures were verified when they came
    by_id.emplace(key.id, std::move(key));
  }
  return by_id;
}

// Reads statements of one snapshot.
class Reading {
 public:
  Reading(storage::Snapshot& snapshot, KeysById keys, std::function<Status()> check)
      : snapshot_(snapshot), keys_(std::move(keys)), check_(std::move(check)) {}

  Result<policy::Lineage::Statements> about(const std::string& digest) {
    storage::StatementQuery query;
    query.subject = digest;
    return read(query);
  }
  Result<policy::Lineage::Statements> from(const std::string& digest) {
    storage::StatementQuery query;
    query.input = digest;
    return read(query);
  }

 private:
  Result<policy::Lineage::Statements> read(storage::StatementQuery query) {
    policy::Lineage::Statements statements;
    query.with_unanchored = true;
    query.bounds.limit = kPage;
    do {
      ASSAY_TRY(check_());
      ASSAY_ASSIGN(const auto page, snapshot_.statements(query));
      for (const storage::StatementRow& row : page.items) {
        if (is_of_lineages(row)) {
          ASSAY_ASSIGN(auto statement, of_row(row));
          statements.push_back(std::move(statement));
        }
      }
      query.bounds.after = page.next;
    } while (query.bounds.after && statements.size() < kLimits.statements);
    return statements;
  }

  static bool is_of_lineages(const storage::StatementRow& row) {
    return row.kind == storage::StatementKind::kManifest
               ? is_current_manifest(row)
               : row.kind == storage::StatementKind::kAttestation &&
                     row.predicate_type != kPlacementPredicateType &&
                     row.predicate_type != kReleasePredicateType;
  }

  // A statement about several things is read once.
  Result<std::shared_ptr<const policy::LineageStatement>> of_row(const storage::StatementRow& row) {
    std::shared_ptr<const policy::LineageStatement>& known = known_[row.id];
    if (!known) {
      ASSAY_ASSIGN(known, lineage_statement(snapshot_, row, keys_));
    }
    return known;
  }

  storage::Snapshot& snapshot_;
  KeysById keys_;
  std::function<Status()> check_;
  std::map<StatementId, std::shared_ptr<const policy::LineageStatement>> known_;
};

Result<std::shared_ptr<const policy::Lineage>> collect(storage::Snapshot& snapshot,
                                                       const std::string& start,
                                                       policy::LineageDirection direction,
                                                       const policy::LineageLimits& limits,
                                                       std::function<Status()> check) {
  ASSAY_ASSIGN(KeysById keys, keys_of(snapshot));
  Reading reading(snapshot, std::move(keys), std::move(check));
  const policy::LineageSource source{
      [&](const std::string& digest) { return reading.about(digest); },
      [&](const std::string& digest) { return reading.from(digest); }};
  return policy::collect_lineage(start, source, direction, limits);
}

// Statements after `after`, whatever they are about; stops when `look` returns false.
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

// Brings `seen` up to the state of `view`; false when it does not hold there.
Result<bool> catch_up(storage::Snapshot& view, SeenLineage& seen) {
  ASSAY_ASSIGN(const std::uint64_t version, view.statements_version());
  if (version == seen.version) {
    return true;
  }
  std::uint64_t rows = 0;
  bool touched = false;
  std::optional<LeafIndex> newest = seen.newest;
  ASSAY_TRY(for_newer(view, seen.newest, [&](const storage::StatementRow& row) {
    ++rows;
    newest = row.log_index;
    touched = std::any_of(
        row.subjects.begin(), row.subjects.end(),
        [&](const std::string& subject) { return seen.facts->lineage->mentions(subject); });
    return !touched && rows < kLimits.statements;
  }));
  // What rose besides are further signatures: nothing tells whose.
  if (touched || seen.version + rows != version) {
    return false;
  }
  seen.version = version;
  seen.newest = newest;
  return true;
}

}  // namespace

Result<bool> are_current(storage::Snapshot& view, std::span<const SeenLineage> seen) {
  bool all = true;
  for (const SeenLineage& one : seen) {
    SeenLineage copy = one;
    ASSAY_ASSIGN(const bool current, catch_up(view, copy));
    all = all && current;
  }
  return all;
}

Result<SeenLineage> lineage_facts(Services& services, storage::Snapshot& snapshot,
                                  const ArtifactId& artifact, std::optional<Timestamp> deadline) {
  const std::string id = artifact.text();
  ASSAY_ASSIGN(const storage::Epochs epochs, snapshot.epochs());
  SeenLineage seen;
  const auto before = services.decisions.lineages.find(id);
  if (before && before->epochs == epochs.trust) {
    seen = {before->version, before->newest, before->facts};
    ASSAY_ASSIGN(const std::uint64_t version, snapshot.statements_version());
    ASSAY_ASSIGN(const bool current,
                 version >= seen.version ? catch_up(snapshot, seen) : Result<bool>(false));
    if (!current) {
      seen.facts = nullptr;
    }
  }
  if (!seen.facts) {
    const auto check = [&] { return check_deadline(services, deadline); };
    ASSAY_ASSIGN(seen.version, snapshot.statements_version());
    ASSAY_ASSIGN(seen.newest, snapshot.newest_statement());
    ASSAY_ASSIGN(auto lineage,
                 collect(snapshot, id, policy::LineageDirection::kUp, kLimits, check));
    ASSAY_ASSIGN(LineageFacts facts, share_lineage(std::move(lineage)));
    seen.facts = std::make_shared<const LineageFacts>(std::move(facts));
  }
  const std::size_t weight =
      2 * (seen.facts->statements.bytes() + seen.facts->keys.bytes.size()) + id.size();
  services.decisions.lineages.put(id, {seen.version, epochs.trust, seen.newest, seen.facts},
                                  weight);
  return seen;
}

Result<std::shared_ptr<const policy::Lineage>> read_lineage(storage::Snapshot& snapshot,
                                                            const std::string& start,
                                                            policy::LineageDirection direction,
                                                            std::size_t depth) {
  policy::LineageLimits limits = kShownLimits;
  limits.depth = depth;
  return collect(snapshot, start, direction, limits, [] { return Status(); });
}

}  // namespace assay::server
