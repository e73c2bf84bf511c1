// SPDX-License-Identifier: Apache-2.0
// An error as JSON, for programs whose output other programs read.
#pragma once

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// Returns {"code","detail"}, and "where" when it is not empty.
[[nodiscard]] Json error_json(const Error& error);

}  // namespace assay
