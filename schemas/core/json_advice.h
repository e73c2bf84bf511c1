// SPDX-License-Identifier: Apache-2.0
// Files of other formats where JSON is expected.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/error.h"

namespace assay {

// Returns `error`, which parsing `text` as JSON gave. When `text` is YAML, the error says so, with
// the command that makes JSON of the file `path`; "-" is standard input.
[[nodiscard]] Error with_json_advice(Error error, std::string_view text, const std::string& path);

}  // namespace assay
