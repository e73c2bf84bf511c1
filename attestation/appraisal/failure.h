// SPDX-License-Identifier: Apache-2.0
// A refusal of evidence: a verdict with a stable name and the two values that differ, not an
// assay::Error. Each type of evidence has an enumeration of its refusals, with name() for each.
#pragma once

#include <expected>
#include <string>
#include <type_traits>
#include <utility>

namespace assay::attestation::appraisal {

// `expected` and `actual` are the compared values as text, empty when there is none to show.
template <typename Error>
struct Failure {
  Error error;
  std::string expected;
  std::string actual;
  std::string parameter;  // the part of the code after the colon; often empty
};

// Returns "NAME" or "NAME:parameter".
template <typename Error>
[[nodiscard]] std::string code(const Failure<Error>& failure) {
  std::string text(name(failure.error));
  return failure.parameter.empty() ? text : text + ':' + failure.parameter;
}

// Makes a Failure as the error of a result.
template <typename Error>
  requires std::is_enum_v<Error>
[[nodiscard]] std::unexpected<Failure<Error>> reject(Error error, std::string expected = {},
                                                     std::string actual = {},
                                                     std::string parameter = {}) {
  return std::unexpected(
      Failure<Error>{error, std::move(expected), std::move(actual), std::move(parameter)});
}

}  // namespace assay::attestation::appraisal
