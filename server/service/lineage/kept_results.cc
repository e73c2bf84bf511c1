// SPDX-License-Identifier: Apache-2.0
#include "server/service/lineage/kept_results.h"

#include <algorithm>

namespace assay::server {
namespace {

std::size_t bytes_of(const std::vector<SignerRequirement>& demands) {
  std::size_t bytes = 0;
  for (const SignerRequirement& demand : demands) {
    for (const std::string& identity : demand.identities) {
      bytes += identity.size();
    }
  }
  return bytes;
}

}  // namespace

bool KeptResults::is_about(const Kept& kept, const policy::LineageQuestion& question) {
  return std::equal(kept.names.begin(), kept.names.end(), question.names.begin(),
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
  const std::lock_guard lock(mutex_);
  for (const Kept& kept : kept_) {
    if (kept.horizon.now <= now && now < kept.horizon.until && is_about(kept, question)) {
      return kept.result;
    }
  }
  return nullptr;
}

void KeptResults::keep(const policy::LineageQuestion& question, const policy::Horizon& horizon,
                       const ConditionResult& result) const {
  if (&question.lineage != lineage_.get() ||
      to_json(question.condition).dump().size() + bytes_of(question.demands) > kMaxBytes) {
    return;
  }
  Kept kept{question.condition,
            {question.names.begin(), question.names.end()},
            question.demands,
            horizon,
            std::make_shared<const ConditionResult>(result)};
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [&](const Kept& one) { return is_about(one, question); });
  kept_.push_back(std::move(kept));
  if (kept_.size() > kMaxKept) {
    kept_.pop_front();
  }
}

}  // namespace assay::server
