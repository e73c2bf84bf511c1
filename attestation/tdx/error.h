// SPDX-License-Identifier: Apache-2.0
// The reasons for refusing TDX evidence. Each refusal has a stable name and the two values that
// differ. A refusal is a verdict about evidence, not an assay::Error. Every verification ends in a
// verdict.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "attestation/appraisal/failure.h"

namespace assay::attestation::tdx {

enum class TdxError : std::uint8_t {
#define ASSAY_TDX_ERROR(enumerator, name, meaning) enumerator,
#include "attestation/tdx/errors.def"
#undef ASSAY_TDX_ERROR
};

// Returns "QUOTE_SIGNATURE" and the like. Defined for every enumerator.
[[nodiscard]] std::string_view name(TdxError error);
// Returns what the error means, as one clause for people.
[[nodiscard]] std::string_view meaning(TdxError error);
// Returns the number of rows of the table, for tests.
[[nodiscard]] std::size_t tdx_error_count();

// Refusals and results of this folder.
using Failure = appraisal::Failure<TdxError>;
template <typename T>
using Checked = std::expected<T, Failure>;
using Outcome = std::expected<void, Failure>;
using appraisal::code;
using appraisal::reject;

}  // namespace assay::attestation::tdx
