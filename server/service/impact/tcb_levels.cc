// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/tcb_levels.h"

#include <algorithm>

#include "schemas/core/json_at.h"

namespace assay::server {
namespace {

// The members that the verifier of TDX writes (attestation/tdx/result.h). What is missing makes the
// rest useless: without its advisories a platform would look as if it had none.
FoundTcb found_in(const Json& result) {
  const Json& tcb = member_at(result, "tcb");
  const auto date = parse_rfc3339(text_at(tcb, "date"));
  FoundTcb found;
  found.fmspc = text_at(member_at(result, "platform"), "fmspc");
  if (!date || found.fmspc.empty() || !member_at(tcb, "advisories").is_array()) {
    return {};
  }
  found.date = *date;
  for (const Json& advisory : tcb["advisories"]) {
    if (!advisory.is_string()) {
      return {};
    }
    found.advisories.push_back(advisory.get<std::string>());
  }
  found.known = true;
  return found;
}

}  // namespace

Result<FoundTcb> TcbLevels::of(const DocumentId& appraisal) {
  if (const auto known = known_.find(appraisal); known != known_.end()) {
    return known->second;
  }
  ASSAY_TRY(check_());
  ASSAY_ASSIGN(const storage::Document document, snapshot_.document(appraisal));
  const auto json = parse_json(document.bytes);
  const bool tdx = json && text_at(member_at(*json, "result"), "type") == "tdx";
  FoundTcb found = tdx ? found_in(member_at(*json, "result")) : FoundTcb();
  if (known_.size() >= kMaxKept) {
    known_.clear();
  }
  return known_.emplace(appraisal, std::move(found)).first->second;
}

bool asks_for_levels(const Hypothesis& hypothesis) {
  return !hypothesis.tcb_levels_lost.empty() || !hypothesis.reject_advisories.empty();
}

std::string lost_by_level(const Hypothesis& hypothesis, const FoundTcb& tcb) {
  for (const std::string& advisory : tcb.advisories) {
    if (std::ranges::find(hypothesis.reject_advisories, advisory) !=
        hypothesis.reject_advisories.end()) {
      return "TCB_ADVISORY_REJECTED:" + advisory;
    }
  }
  const bool lost = std::ranges::any_of(hypothesis.tcb_levels_lost, [&](const TcbLevel& level) {
    return level.fmspc == tcb.fmspc && tcb.date <= level.date;
  });
  return lost ? "TCB_STATUS_NOT_ACCEPTED:OutOfDate" : "";
}

}  // namespace assay::server
