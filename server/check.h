// SPDX-License-Identifier: Apache-2.0
// `assayd check`: an installation as it lies on disk, while no service runs.
#pragma once

#include <vector>

#include "schemas/core/clock.h"
#include "server/config.h"
#include "server/service/check_store.h"

namespace assay::server {

// check_store() on the store of `config`. The errors of opening a store come first: they say that
// it is damaged, behind its anchor, or in use.
[[nodiscard]] Result<std::vector<Finding>> check_installation(const Config& config,
                                                              const Clock& clock);

}  // namespace assay::server
