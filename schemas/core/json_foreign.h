// SPDX-License-Identifier: Apache-2.0
// JSON of other people's objects, which may hold integers that not every reader keeps exact.
#pragma once

#include "schemas/core/json.h"

namespace assay {

// As parse_json, but an integer outside +-(2^53 - 1) becomes the text of its digits, so that it
// stays exact and its canonical form defined. Numbers beyond a double are refused all the same.
[[nodiscard]] Result<Json> parse_foreign_json(ByteView bytes, const JsonLimits& limits = {});

}  // namespace assay
