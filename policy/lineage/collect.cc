// SPDX-License-Identifier: Apache-2.0
// Searches for the statements of a lineage, breadth first.
#include <deque>
#include <set>
#include <unordered_set>

#include "policy/lineage.h"

namespace assay::policy {
namespace {

struct Place {
  std::string digest;
  std::size_t depth;
};

class Search {
 public:
  Search(const LineageSource& source, LineageDirection direction, const LineageLimits& limits)
      : source_(source), down_(direction == LineageDirection::kDown), limits_(limits) {}

  Result<std::shared_ptr<const Lineage>> from(const std::string& start) {
    visit(start, 0, false);
    while (!waiting_.empty()) {
      const Place place = std::move(waiting_.front());
      waiting_.pop_front();
      ASSAY_ASSIGN(const auto about, source_.about(place.digest));
      ASSAY_TRY(look_at(about, place, false));
      if (down_) {
        ASSAY_ASSIGN(const auto uses, source_.from(place.digest));
        ASSAY_TRY(look_at(uses, place, true));
      }
    }
    return Lineage::make(start, std::move(found_),
                         std::vector<std::string>(reached_.begin(), reached_.end()));
  }

 private:
  // What is one thing with another is looked at before what is further away.
  void visit(const std::string& digest, std::size_t depth, bool same_thing) {
    if (!is_strong_digest(digest) || seen_.contains(digest)) {
      return;
    }
    if (depth > limits_.depth) {
      reached_.insert("depth");
    } else if (seen_.size() >= limits_.digests) {
      reached_.insert("digests");
    } else {
      seen_.insert(digest);
      same_thing ? waiting_.push_front({digest, depth}) : waiting_.push_back({digest, depth});
    }
  }

  Status look_at(const Lineage::Statements& statements, const Place& place, bool uses) {
    for (const auto& statement : statements) {
      if (!taken_.contains(statement->fact.id)) {
        if (found_.size() >= limits_.statements) {
          reached_.insert("statements");
          return {};
        }
        taken_.insert(statement->fact.id);
        found_.push_back(statement);
      }
      if (statement->manifest) {
        visit_subjects(*statement, place.depth, true);
      } else if (uses && makes_subjects(*statement)) {
        visit_subjects(*statement, place.depth + 1, false);
      } else if (!down_ && makes_subjects(*statement)) {
        for (const LineageInput& input : statement->inputs) {
          for (const std::string& digest : input.digests) {
            visit(digest, place.depth + 1, false);
          }
        }
      }
    }
    return {};
  }

  void visit_subjects(const LineageStatement& statement, std::size_t depth, bool same_thing) {
    for (const LineageSubject& subject : statement.subjects) {
      visit(subject.digest, depth, same_thing);
    }
  }

  const LineageSource& source_;
  bool down_;
  const LineageLimits& limits_;
  std::deque<Place> waiting_;
  std::unordered_set<std::string> seen_;
  std::unordered_set<StatementId> taken_;
  Lineage::Statements found_;
  std::set<std::string> reached_;
};

}  // namespace

Result<std::shared_ptr<const Lineage>> collect_lineage(const std::string& start,
                                                       const LineageSource& source,
                                                       LineageDirection direction,
                                                       const LineageLimits& limits) {
  return Search(source, direction, limits).from(start);
}

}  // namespace assay::policy
