// SPDX-License-Identifier: Apache-2.0
// Parser of a request header, based on Boost.Beast. Boost.Beast accepts some malformed headers,
// which the gate (gate.h) refuses.
#pragma once

#include <string_view>

#include "schemas/core/error.h"
#include "server/http/gate.h"

namespace assay::server {

// Parses one header, from the request line to the blank line. `text` must end where find_head_end()
// (gate.h) found the end of the header. Errors: bad-request for anything that is not exactly one
// header.
[[nodiscard]] Result<RawHead> parse_head(std::string_view text);

}  // namespace assay::server
