// SPDX-License-Identifier: Apache-2.0
// The text of a statement's part of a lineage (stored.h).
#pragma once

#include <string>

#include "policy/lineage.h"

namespace assay::server {

// Returns the canonical text of what policy::to_json() makes of `statement`, with its signers in
// the short form of part_signers() (facts/case_parts.h). Errors: malformed-json for text that is
// not UTF-8.
[[nodiscard]] Result<std::string> part_text(const policy::LineageStatement& statement);

}  // namespace assay::server
