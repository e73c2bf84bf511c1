// SPDX-License-Identifier: Apache-2.0
// Tests of a policy about a model of one's own: the newest decision about that model says what was
// known and asked, and the suite of a policy what to change in it.
#pragma once

#include <string>
#include <vector>

#include "cli/client/connect.h"
#include "cli/verbs/policy_cases.h"

namespace assay::cli {

struct OwnSuite {
  Json document;                      // as parse_cases() reads it
  std::vector<PolicyCase> cases;      // of the document
  std::vector<std::string> left_out;  // "NAME: why" of cases whose change does not fit
};

// Fetches the newest decision about `model` (a name or an artifact id), and puts its facts,
// workload, point and time in the place of those that the cases in `suite_file` share. Without a
// file the one case is the decision's own. `base` gives a case without an expectation its own.
// Errors: not-found when the model was never asked about; those of the API, of the file, and of
// parse_cases().
[[nodiscard]] Result<OwnSuite> own_suite(Api& api, const std::string& model,
                                         const std::string& suite_file, const PolicyCase& base);

}  // namespace assay::cli
