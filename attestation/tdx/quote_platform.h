// SPDX-License-Identifier: Apache-2.0
// The platform that a quote claims to be from, for callers that ask before the quote is verified.
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
