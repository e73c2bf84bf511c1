// SPDX-License-Identifier: Apache-2.0
// Parser of a request header, based on Boost.Beast. The gate (gate.h) refuses what Boost.Beast
// accepts but should not.
#pragma once

#include <string_view>

#include "schemas/core/error.h"
#include "server/http/gate.h"

namespace assay::server {

// Parses one header, from the request line to the blank line. find_head_end() gives the end of
// `text`. Errors: bad-request for anything that is not exactly one header.
[[nodiscard]] Result<RawHead> parse_head(std::string_view text);

}  // namespace assay::server
