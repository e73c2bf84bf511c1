// SPDX-License-Identifier: Apache-2.0
// The reasons for refusing TDX evidence. Each refusal has a stable name and the two values that
// differ. A refusal is a verdict about evidence, not an assay::Error. Every verification ends in a
// verdict.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

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

// One failed check. `expected` and `actual` are the compared values as text. They are empty when
// there is no value to show.
struct Failure {
  TdxError error;
  std::string expected;
  std::string actual;
  std::string parameter;  // the part of the code after the colon; often empty
};

// Returns "NAME" or "NAME:parameter".
[[nodiscard]] std::string code(const Failure& failure);

template <typename T>
using Checked = std::expected<T, Failure>;
using Outcome = std::expected<void, Failure>;

// Makes a Failure as the error of a result.
[[nodiscard]] inline std::unexpected<Failure> reject(TdxError error, std::string expected = {},
                                                     std::string actual = {},
                                                     std::string parameter = {}) {
  return std::unexpected(
      Failure{error, std::move(expected), std::move(actual), std::move(parameter)});
}

}  // namespace assay::attestation::tdx
