// SPDX-License-Identifier: Apache-2.0
// Why TDX evidence was refused: a stable name, and the two values that differ. A refusal is a
// verdict about evidence, not an assay::Error: "could not decide" does not exist here.
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

// "QUOTE_SIGNATURE" and the like; total over the enum.
[[nodiscard]] std::string_view name(TdxError error);
// One clause for people.
[[nodiscard]] std::string_view meaning(TdxError error);
// Number of rows, for tests that walk the table.
[[nodiscard]] std::size_t tdx_error_count();

// One refused check. `expected` and `actual` are the compared values as text, empty where there is
// nothing to show.
struct Failure {
  TdxError error;
  std::string expected;
  std::string actual;
  std::string parameter;  // what stands behind the colon of the code; mostly empty
};

// "NAME" or "NAME:parameter".
[[nodiscard]] std::string code(const Failure& failure);

template <typename T>
using Checked = std::expected<T, Failure>;
using Outcome = std::expected<void, Failure>;

// The usual way to refuse.
[[nodiscard]] inline std::unexpected<Failure> reject(TdxError error, std::string expected = {},
                                                     std::string actual = {},
                                                     std::string parameter = {}) {
  return std::unexpected(
      Failure{error, std::move(expected), std::move(actual), std::move(parameter)});
}

}  // namespace assay::attestation::tdx
