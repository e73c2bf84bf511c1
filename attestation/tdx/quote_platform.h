// SPDX-License-Identifier: Apache-2.0
// Which platform a quote says it is from, for those who ask before anybody has verified it.
#pragma once

#include <optional>

#include "attestation/tdx/pck_extension.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

// The SGX extension of the PCK certificate inside the quote. No signature is checked: this is what
// the machine says about itself. Nothing when the quote or the certificate do not parse.
[[nodiscard]] std::optional<PckExtension> claimed_platform(ByteView quote);

}  // namespace assay::attestation::tdx
