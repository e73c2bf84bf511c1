// SPDX-License-Identifier: Apache-2.0
// Whether an in-toto statement in an envelope is about an artifact.
// Source: https://github.com/in-toto/attestation, spec/v1/statement.md
#pragma once

#include "attestation/sigstore/artifact.h"
#include "attestation/sigstore/bundle.h"
#include "schemas/core/error.h"

namespace assay::attestation::sigstore {

inline constexpr std::size_t kMaxSubjects = 16'384;

// Checks that the payload is an in-toto statement, and that one of its subjects has the SHA-256 of
// the artifact, or its SHA-384, and no other value for either. Errors: artifact-mismatch;
// payload-type-unknown; limit-exceeded for more than kMaxSubjects; those of parse_foreign_json().
[[nodiscard]] Status check_subject(const DsseContent& envelope, const Artifact& artifact);

}  // namespace assay::attestation::sigstore
