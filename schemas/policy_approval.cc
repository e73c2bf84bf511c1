// SPDX-License-Identifier: Apache-2.0
// Approvals of policies: policy-approval.schema.json.
#include "schemas/members.h"
#include "schemas/policy_document.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr std::string_view kActivate = "activate";
constexpr std::string_view kDeactivate = "deactivate";

}  // namespace

Result<PolicyApproval> parse_policy_approval(ByteView payload) {
  ASSAY_ASSIGN(const Json json, parse_json(payload));
  ASSAY_TRY(validate("policy-approval", json));
  auto policy = StatementId::parse(members::text(json, "policy"));
  if (!policy) {
    return members::under("/policy", std::move(policy).error());
  }
  const bool activate = members::text(json, "action") == kActivate;
  return PolicyApproval{
      activate ? PolicyApproval::Action::kActivate : PolicyApproval::Action::kDeactivate,
      *std::move(policy), members::number(json, "sequence")};
}

Json to_json(const PolicyApproval& approval) {
  const bool activate = approval.action == PolicyApproval::Action::kActivate;
  return {{"action", activate ? kActivate : kDeactivate},
          {"policy", approval.policy.text()},
          {"sequence", approval.sequence}};
}

}  // namespace assay
