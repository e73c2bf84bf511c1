// SPDX-License-Identifier: Apache-2.0
#include "server/service/lineage/closure.h"

#include <algorithm>

#include "server/service/lineage/steps.h"
#include "server/service/references/resolve.h"
#include "storage/lineage_reads.h"

namespace assay::server {
namespace {

constexpr policy::LineageLimits kLimits = {};
// Of more changes of the stored statements than this, a lineage is read again instead.
constexpr std::size_t kMaxCaughtUp = 256;
// Nobody looks at more.
constexpr std::size_t kMaxShown = 2000;
constexpr std::size_t kMaxShownEdges = 100'000;
constexpr policy::LineageLimits kShownLimits = {
    .digests = kMaxShown, .statements = kMaxShown, .edges = kMaxShownEdges};

// For readers: whoever signed.
Result<std::shared_ptr<const policy::Lineage>> collect(storage::Snapshot& snapshot,
                                                       const std::string& start,
                                                       policy::LineageDirection direction,
                                                       const policy::LineageLimits& limits,
                                                       const std::function<Status()>& check) {
  ASSAY_ASSIGN(StatementReader reader, StatementReader::open(snapshot, check));
  const policy::LineageSource source{
      [&](const std::string& digest) { return reader.about(digest); },
      [&](const std::string& digest) { return reader.from(digest); }};
  return policy::collect_lineage(start, source, direction, limits, policy::LineageWhose::kAll);
}

// Upwards, what may count, within kLimits; what is known of statements already is not read again.
Result<LineageFacts> collect_facts(Services& services, storage::Snapshot& snapshot,
                                   const std::string& start, const std::function<Status()>& check) {
  ASSAY_ASSIGN(StatementReader reader, StatementReader::open(snapshot, check));
  ASSAY_ASSIGN(HeldSteps steps, HeldSteps::take(services.decisions.steps, snapshot));
  // Also what is known takes its time.
  const policy::LineageSource source{
      [&](const std::string& digest) -> Result<policy::Lineage::Statements> {
        ASSAY_TRY(check());
        return steps.about(reader, digest);
      }};
  ASSAY_ASSIGN(auto lineage,
               policy::collect_lineage(start, source, policy::LineageDirection::kUp, kLimits));
  return steps.share(std::move(lineage));
}

bool is_about(const policy::Lineage& lineage, const storage::StatementRow& row) {
  return std::any_of(row.subjects.begin(), row.subjects.end(),
                     [&](const std::string& subject) { return lineage.mentions(subject); });
}

// What changed of the stored statements, and whether a lineage mentions some of it.
struct Changes {
  std::uint64_t count = 0;
  bool touched = false;

  void add(const policy::Lineage& lineage, const storage::StatementRow& row) {
    ++count;
    touched = touched || is_about(lineage, row);
  }
  [[nodiscard]] bool done() const { return touched || count > kMaxCaughtUp; }
};

// Adds the statements that came after `newest`, and sets it to the last of them.
Status add_new(storage::Snapshot& view, const policy::Lineage& lineage,
               std::optional<LeafIndex>& newest, Changes& changes) {
  return for_newer(view, newest, [&](const storage::StatementRow& row) {
    changes.add(lineage, row);
    newest = row.log_index;
    return !changes.done();
  });
}

// Whether evidence of a step can have become stale.
Result<bool> same_evidence(storage::Snapshot& view, const SeenLineage& seen) {
  ASSAY_ASSIGN(const std::uint64_t generation, view.lineage().evidence_generation());
  const auto& statements = seen.facts->lineage->statements();
  return generation == seen.evidence || std::ranges::all_of(statements, [](const auto& one) {
           return one->fact.evidence.empty();
         });
}

// Brings `seen` up to the state of `view`; false when it does not hold there.
Result<bool> catch_up(storage::Snapshot& view, SeenLineage& seen) {
  ASSAY_ASSIGN(const bool same, same_evidence(view, seen));
  ASSAY_ASSIGN(const std::uint64_t version, view.statements_version());
  if (!same || version <= seen.version) {
    return same && version == seen.version;
  }
  Changes changes;
  std::optional<LeafIndex> newest = seen.newest;
  ASSAY_TRY(add_new(view, *seen.facts->lineage, newest, changes));
  if (changes.done()) {
    return false;
  }
  ASSAY_ASSIGN(const auto changed, view.lineage().changes_since(seen.version, kMaxCaughtUp + 1));
  for (const LeafIndex index : changed) {
    ASSAY_ASSIGN(const storage::StatementRow row, view.statement_at(index));
    changes.add(*seen.facts->lineage, row);
  }
  if (changes.done() || seen.version + changes.count != version) {
    return false;
  }
  seen.version = version;
  seen.newest = newest;
  return true;
}

// Facts take more bytes in memory than in their stored form.
std::size_t weight_of(const LineageFacts& facts) {
  return 2 * (facts.statements.bytes() + facts.keys.bytes.size()) + facts.results->bytes() +
         facts.lineage->start().size();
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
    seen = {before->version, before->newest, before->evidence, before->facts};
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
    ASSAY_ASSIGN(seen.evidence, snapshot.lineage().evidence_generation());
    ASSAY_ASSIGN(LineageFacts facts, collect_facts(services, snapshot, id, check));
    seen.facts = std::make_shared<const LineageFacts>(std::move(facts));
  }
  services.decisions.lineages.put(
      id, {seen.version, epochs.trust, seen.newest, seen.evidence, seen.facts},
      weight_of(*seen.facts));
  return seen;
}

void weigh_lineages(Services& services, std::span<const SeenLineage> seen) {
  for (const SeenLineage& one : seen) {
    services.decisions.lineages.weigh(
        one.facts->lineage->start(), [](const DecisionCache::KnownLineage& known) {
          return known.facts ? weight_of(*known.facts) : std::size_t{0};
        });
  }
}

Result<std::shared_ptr<const policy::Lineage>> read_lineage(storage::Snapshot& snapshot,
                                                            const std::string& start,
                                                            policy::LineageDirection direction,
                                                            std::size_t depth,
                                                            const std::function<Status()>& check) {
  policy::LineageLimits limits = kShownLimits;
  limits.depth = depth;
  return collect(snapshot, start, direction, limits, check);
}

Result<std::shared_ptr<const policy::Lineage>> made_from_lineage(
    storage::Snapshot& snapshot, const std::string& start, const std::function<Status()>& check,
    const policy::LineageLimits& limits) {
  return collect(snapshot, start, policy::LineageDirection::kDown, limits, check);
}

}  // namespace assay::server
