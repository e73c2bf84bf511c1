// SPDX-License-Identifier: Apache-2.0
// Errors of the verification of SEV-SNP evidence: an enumeration whose names appear verbatim in
// verdicts.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace assay::attestation::snp {

enum class SnpError : std::uint8_t {
#define ASSAY_SNP_ERROR(enumerator, name, meaning) enumerator,
#include "attestation/snp/errors.def"
#undef ASSAY_SNP_ERROR
};

// Returns the stable name, such as "REPORT_SIGNATURE".
[[nodiscard]] std::string_view name(SnpError error);
// Returns one line for people.
[[nodiscard]] std::string_view meaning(SnpError error);
// Returns the number of rows of the table, for tests.
[[nodiscard]] std::size_t snp_error_count();

// One failed check. `expected` and `actual` are the compared values as text; both are empty
// when there is no value to show.
struct Failure {
  SnpError error;
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
[[nodiscard]] inline std::unexpected<Failure> reject(SnpError error, std::string expected = {},
                                                     std::string actual = {},
                                                     std::string parameter = {}) {
  return std::unexpected(
      Failure{error, std::move(expected), std::move(actual), std::move(parameter)});
}

}  // namespace assay::attestation::snp
