// SPDX-License-Identifier: Apache-2.0
// assay endorsements fetch.
#pragma once

#include "cli/command.h"

namespace assay::cli {

void add_endorsements_fetch(const Command& group, Context& context);

}  // namespace assay::cli
