// SPDX-License-Identifier: Apache-2.0
// Rules for evidence (schemas/trust.h) as reviews compare them.
#pragma once

#include <string>

#include "cli/review/text.h"
#include "schemas/core/json.h"

namespace assay::cli {

// Returns the appraisal with the values that are in force when a document does not name them.
[[nodiscard]] Json with_defaults(Json appraisal);

// Returns why a difference of two appraisals may let in more evidence; empty: it does not.
[[nodiscard]] std::string appraisal_flag(const Difference& one);

}  // namespace assay::cli
