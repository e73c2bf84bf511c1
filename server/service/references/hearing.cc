// SPDX-License-Identifier: Apache-2.0
#include "server/service/references/hearing.h"

namespace assay::server {

Result<bool> is_worth_reading(Asking& asking, const KeyId& id, Ears ears) {
  auto known = asking.keys.find(id);
  if (known == asking.keys.end()) {
    ASSAY_ASSIGN(const TrustedKey key, asking.snapshot.key(id));
    std::set<Ears> worth;
    if (Publishers::may_count(key, asking.now)) {
      worth.insert(Ears::kTrusted);
    }
    if (asking.publishers.may_believe(key, asking.now)) {
      worth.insert(Ears::kBelieved);
    }
    known = asking.keys.emplace(id, std::move(worth)).first;
  }
  return known->second.contains(ears);
}

Result<const Heard*> hear(Asking& asking, LeafIndex index) {
  const auto known = asking.heard.find(index);
  if (known != asking.heard.end()) {
    return &known->second;
  }
  if (asking.heard.size() >= kMaxManifestsHeard) {
    return fail(ErrorCode::kLimitExceeded, "too many manifests match; name the artifact id");
  }
  ASSAY_TRY(check_deadline(asking.services, asking.deadline));
  ASSAY_ASSIGN(storage::StatementRow row, asking.snapshot.statement_at(index));
  ASSAY_ASSIGN(const Word word, asking.publishers.hear(asking.snapshot, row, asking.now));
  return &asking.heard.emplace(index, Heard{std::move(row), word}).first->second;
}

ConditionResult refused(Reason code, Json expected, Json actual) {
  return {std::string(kReferenceCondition),
          Outcome::kFail,
          code,
          std::move(expected),
          std::move(actual),
          {},
          {}};
}

Status check_deadline(const Services& services, const std::optional<Timestamp>& deadline) {
  return deadline && services.clock.now() >= *deadline
             ? fail(ErrorCode::kEvaluationDeadline,
                    "the caller's deadline was over before the answer; ask again, or with a "
                    "later one")
             : Status();
}

}  // namespace assay::server
