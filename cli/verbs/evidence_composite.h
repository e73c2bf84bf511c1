// SPDX-License-Identifier: Apache-2.0
// assay evidence verify --type composite.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/verbs/evidence_endorsed.h"
#include "schemas/core/error.h"

namespace assay::cli {

struct CompositeVerifyOptions {
  std::string enrolment;
  std::vector<std::string> collateral;  // at most one file for each type of evidence
  std::vector<std::string> policies;    // files of appraisals
  std::string at;
  std::string nonce;
  EndorsedFlags endorsed;
};

// Verifies an enrolment as the service does: signature, binding of the devices, evidence of the
// node, and that of each device. Errors: for files and options that cannot be used; everything
// about the enrolment is a verdict.
[[nodiscard]] Result<Exit> verify_composite(const Context& context,
                                            const CompositeVerifyOptions& options);

}  // namespace assay::cli
