// SPDX-License-Identifier: Apache-2.0
// The built-in verifier of Intel TDX quotes. Internal to this folder.
#pragma once

#include <memory>

#include "attestation/evidence_verifier.h"

namespace assay::attestation {

inline constexpr std::string_view kTdxMediaType = "application/vnd.assay.tdx-quote";

[[nodiscard]] std::unique_ptr<const EvidenceVerifier> make_tdx_verifier();

}  // namespace assay::attestation
