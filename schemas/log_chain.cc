// SPDX-License-Identifier: Apache-2.0
#include "schemas/log_chain.h"

#include <algorithm>
#include <array>

#include "schemas/core/json_at.h"

namespace assay {
namespace {

constexpr std::array kChained = {event::kTrustBootstrapped, event::kTrustChanged,
                                 event::kPolicyActivated, event::kPolicyDeactivated,
                                 event::kStatementWithdrawn};

}  // namespace

bool is_chained(std::string_view record_type) {
  return std::ranges::find(kChained, record_type) != kChained.end();
}

Status LogChain::take(LeafIndex index, const LogRecord& record, const Digest& leaf) {
  const bool chained = is_chained(record.type);
  if (!chained && record.type != event::kDecisionMade) {
    return {};
  }
  const Json& named = member_at(object_at(record.detail, "chain"), chained ? "previous" : "newest");
  const Json expected =
      newest_ ? Json{{"index", newest_->index}, {"leaf", newest_->leaf.text()}} : Json();
  if (named != expected) {
    return fail(ErrorCode::kLogInconsistent,
                chained
                    ? "the record does not name the change of trust, policy or withdrawal before"
                    : "the decision does not name the newest change of trust, policy or "
                      "withdrawal before it",
                "log entry " + std::to_string(index));
  }
  if (chained) {
    newest_ = Link{index, leaf};
  }
  return {};
}

}  // namespace assay
