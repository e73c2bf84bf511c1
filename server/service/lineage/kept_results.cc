// SPDX-License-Identifier: Apache-2.0
#include "server/service/lineage/kept_results.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace assay::server {
namespace {

// Tells most questions apart without a look at all of their texts: of each list the size, the first
// and the last item.
class QuestionHash {
 public:
  void add(std::uint64_t value) { value_ = (value_ ^ value) * 0x9E3779B97F4A7C15 + 1; }
  void add(std::string_view text) { add(std::hash<std::string_view>()(text)); }
  void add(const std::vector<std::string>& list) {
    add(list.size());
    if (!list.empty()) {
      add(list.front());
      add(list.back());
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

std::uint64_t hash_of(const policy::LineageQuestion& question) {
  const LineageCondition& condition = question.condition;
  QuestionHash hash;
  for (const auto* list :
       {&condition.roles, &condition.leaves, &condition.stages, &condition.deny.digests,
        &condition.deny.names, &condition.deny.keys, &condition.deny.identities}) {
    hash.add(*list);
  }
  hash.add(condition.edges.size());
  for (const LineageEdgeRule& rule : condition.edges) {
    hash.add(rule.stage);
    hash.add(rule.identities);
  }
  hash.add(condition.max_depth.value_or(~std::uint64_t{0}));
  if (condition.licences) {
    hash.add(condition.licences->allow);
    hash.add(condition.licences->deny);
  }
  for (const std::string_view name : question.names) {
    hash.add(name);
  }
  for (const SignerRequirement& demand : question.demands) {
    hash.add(demand.at_least);
    hash.add(demand.identities);
  }
  return hash.value();
}

std::size_t text_bytes(const policy::LineageQuestion& question, const ConditionResult& result) {
  std::size_t bytes = to_json(question.condition).dump().size() + to_json(result).dump().size();
  for (const std::string_view name : question.names) {
    bytes += name.size();
  }
  for (const SignerRequirement& demand : question.demands) {
    for (const std::string& identity : demand.identities) {
      bytes += identity.size();
    }
  }
  return bytes;
}

}  // namespace

bool KeptResults::is_about(const Kept& kept, const policy::LineageQuestion& question,
                           std::uint64_t hash) {
  return kept.hash == hash &&
         std::equal(kept.names.begin(), kept.names.end(), question.names.begin(),
                    question.names.end()) &&
         std::equal(kept.demands.begin(), kept.demands.end(), question.demands.begin(),
                    question.demands.end(),
                    [](const SignerRequirement& a, const SignerRequirement& b) {
                      return a.at_least == b.at_least && a.identities == b.identities;
                    }) &&
         kept.condition == question.condition;
}

std::shared_ptr<const ConditionResult> KeptResults::find(const policy::LineageQuestion& question,
                                                         Timestamp now) const {
  if (&question.lineage != lineage_.get()) {
    return nullptr;
  }
  const std::uint64_t hash = hash_of(question);
  const std::lock_guard lock(mutex_);
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    if (it->horizon.now <= now && now < it->horizon.until && is_about(*it, question, hash)) {
      kept_.splice(kept_.begin(), kept_, it);
      return it->result;
    }
  }
  return nullptr;
}

void KeptResults::keep(const policy::LineageQuestion& question, const policy::Horizon& horizon,
                       const ConditionResult& result) const {
  if (&question.lineage != lineage_.get()) {
    return;
  }
  Kept kept{hash_of(question),
            question.condition,
            {question.names.begin(), question.names.end()},
            question.demands,
            horizon,
            std::make_shared<const ConditionResult>(result),
            sizeof(Kept) + sizeof(ConditionResult) + 2 * text_bytes(question, result)};
  const std::lock_guard lock(mutex_);
  for (auto it = kept_.begin(); it != kept_.end();) {
    const auto one = it++;
    if (is_about(*one, question, kept.hash)) {
      drop(one);
    }
  }
  if (kept.bytes > kMaxBytes) {
    return;
  }
  bytes_ += kept.bytes;
  kept_.push_front(std::move(kept));
  while (bytes_ > kMaxBytes) {
    drop(std::prev(kept_.end()));
  }
}

std::size_t KeptResults::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void KeptResults::drop(std::list<Kept>::iterator kept) const {
  bytes_ -= kept->bytes;
  kept_.erase(kept);
}

}  // namespace assay::server
