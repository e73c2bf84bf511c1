// SPDX-License-Identifier: Apache-2.0
// The parts of a decision that its export cannot show.
#pragma once

#include <vector>

#include "cli/decisions/governed.h"
#include "cli/decisions/verify_export.h"
#include "policy/case_documents.h"

namespace assay::cli {

[[nodiscard]] std::vector<RestsOnWord> rests_on_word(const policy::CaseHead& head,
                                                     const std::vector<policy::Facts>& models,
                                                     const Governed& governed);

}  // namespace assay::cli
