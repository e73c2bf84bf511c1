// SPDX-License-Identifier: Apache-2.0
#include "attestation/appraisal/checks.h"

namespace assay::attestation::appraisal {

std::string_view name(CheckOutcome outcome) {
  switch (outcome) {
    case CheckOutcome::kPass:
      return "pass";
    case CheckOutcome::kFail:
      return "fail";
    case CheckOutcome::kNotConstrained:
      break;
  }
  return "not-constrained";
}

Json checks_json(const std::vector<Check>& checks) {
  Json json = Json::array();
  for (const Check& check : checks) {
    json.push_back({{"id", check.id},
                    {"spec", check.spec},
                    {"outcome", name(check.outcome)},
                    {"expected", check.expected},
                    {"actual", check.actual}});
  }
  return json;
}

}  // namespace assay::attestation::appraisal
