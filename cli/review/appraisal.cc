// SPDX-License-Identifier: Apache-2.0
#include "cli/review/appraisal.h"

namespace assay::cli {

Json with_defaults(Json appraisal) {
  if (appraisal.is_object()) {
    Json& policy = appraisal["policy"];
    policy = policy.is_object() ? policy : Json::object();
    if (!policy.contains("accept_tcb_status")) {
      policy["accept_tcb_status"] = {"UpToDate"};
    }
  }
  return appraisal;
}

std::string appraisal_flag(const Difference& one) {
  const std::string member = last_member(one.path);
  const bool added = one.before.is_null();
  if (one.path.find("dangerous_") != std::string::npos) {
    return added || one.after != Json(false) ? "evidence counts that proves less" : "";
  }
  const bool references = one.path.find(".reference_values.") != std::string::npos;
  if (references && one.path.ends_with("[]")) {
    if (added) {
      return one.size_before > 0 ? "machines with another measurement are accepted" : "";
    }
    return one.size_after == 0 ? "this measurement is looked at no more" : "";
  }
  if (member == "accept_tcb_status") {
    return added ? "machines in another state are accepted" : "";
  }
  if (member == "platform_allow_list") {
    const bool looser = added ? one.size_before > 0 : one.size_after == 0;
    return looser ? "more machines are accepted" : "";
  }
  if (member == "rejected_advisories") {
    return added ? "" : "machines with this advisory are accepted";
  }
  if (member.starts_with("require_")) {
    return one.after == Json(true) ? "" : "less is required";
  }
  if (member.starts_with("allow_")) {
    return one.after == Json(false) ? "" : "more is allowed";
  }
  return one.path.find("policy.") == std::string::npos ? "" : "another rule for evidence";
}

}  // namespace assay::cli
