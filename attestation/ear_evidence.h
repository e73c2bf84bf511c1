// SPDX-License-Identifier: Apache-2.0
// The built-in verifier of results of outside verifiers (outside_verifier.h), as evidence of type
// "ear". Internal to this folder.
#pragma once

#include <memory>

#include "attestation/evidence_verifier.h"

namespace assay::attestation {

inline constexpr std::string_view kEarEvidence = "ear";
inline constexpr std::string_view kEarEvidenceMediaType = "application/vnd.assay.ear-evidence+json";

[[nodiscard]] std::unique_ptr<const EvidenceVerifier> make_ear_verifier();

}  // namespace assay::attestation
