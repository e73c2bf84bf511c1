// SPDX-License-Identifier: Apache-2.0
// Returns which platform a quote claims to come from, for callers that need this before the quote
// is verified.
#pragma once

#include <optional>

#include "attestation/tdx/pck_extension.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

// Returns the SGX extension of the PCK certificate inside the quote. No signature is checked, so
// this is only the machine's own claim. Returns nullopt when the quote or the certificate does not
// parse.
[[nodiscard]] std::optional<PckExtension> claimed_platform(ByteView quote);

}  // namespace assay::attestation::tdx
