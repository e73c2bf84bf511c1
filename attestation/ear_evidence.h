// SPDX-License-Identifier: Apache-2.0
// The built-in verifier of results of outside verifiers (outside_verifier.h), as evidence of type
// kEarEvidence. Internal to this folder.
#pragma once

#include <memory>

#include "attestation/evidence_verifier.h"

namespace assay::attestation {

[[nodiscard]] std::unique_ptr<const EvidenceVerifier> make_ear_verifier();

}  // namespace assay::attestation
