// SPDX-License-Identifier: Apache-2.0
// The grammar of a request header, read by Boost.Beast. What it takes but should not is left to the
// gate.
#pragma once

#include <string_view>

#include "schemas/core/error.h"
#include "server/http/gate.h"

namespace assay::server {

// Parses one header, from the request line to the blank line (find_head_end says where that is).
// bad-request for anything that is not exactly one header.
[[nodiscard]] Result<RawHead> parse_head(std::string_view text);

}  // namespace assay::server
