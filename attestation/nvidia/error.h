// SPDX-License-Identifier: Apache-2.0
// The reasons for refusing evidence of NVIDIA devices. A refusal is a verdict about evidence, not
// an assay::Error: it has a stable name and the values that differ.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "attestation/appraisal/failure.h"

namespace assay::attestation::nvidia {

enum class NvidiaError : std::uint8_t {
#define ASSAY_NVIDIA_ERROR(enumerator, name, meaning) enumerator,
#include "attestation/nvidia/errors.def"
#undef ASSAY_NVIDIA_ERROR
};

// Returns "NONCE_MISMATCH" and the like. Defined for every enumerator.
[[nodiscard]] std::string_view name(NvidiaError error);
// Returns what the error means, as one clause for people.
[[nodiscard]] std::string_view meaning(NvidiaError error);
// Returns the number of rows of the table, for tests.
[[nodiscard]] std::size_t nvidia_error_count();

// Refusals and results of this folder.
using Failure = appraisal::Failure<NvidiaError>;
template <typename T>
using Checked = std::expected<T, Failure>;
using Outcome = std::expected<void, Failure>;
using appraisal::code;
using appraisal::reject;

}  // namespace assay::attestation::nvidia
