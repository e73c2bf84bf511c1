// SPDX-License-Identifier: Apache-2.0
// An error as JSON, as programs print it for other programs.
#pragma once

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// {"code","detail","where"?}.
[[nodiscard]] Json error_json(const Error& error);

}  // namespace assay
