// SPDX-License-Identifier: Apache-2.0
// The checks of a verification in their order, with the values that each compared.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attestation/appraisal/failure.h"
#include "schemas/core/json.h"

namespace assay::attestation::appraisal {

enum class CheckOutcome : std::uint8_t {
  kPass,
  kFail,
  kNotConstrained,  // the policy or the caller sets no requirement
};
// Returns "pass", "fail" or "not-constrained".
[[nodiscard]] std::string_view name(CheckOutcome outcome);

struct Check {
  std::string_view id;    // stable, kebab-case; a string literal
  std::string_view spec;  // where the check is specified; a string literal
  CheckOutcome outcome = CheckOutcome::kPass;
  std::string expected;
  std::string actual;
};

// Returns [{"id","spec","outcome","expected","actual"}].
[[nodiscard]] Json checks_json(const std::vector<Check>& checks);

// Values that a check compared.
struct Compared {
  std::string expected;
  std::string actual;
  CheckOutcome outcome = CheckOutcome::kPass;
};

// The step of a check without values worth writing down.
template <typename Error>
[[nodiscard]] std::expected<Compared, Failure<Error>> plain(
    std::expected<void, Failure<Error>> outcome) {
  if (!outcome) {
    return std::unexpected(std::move(outcome).error());
  }
  return Compared{};
}

// Writes one check into `result`, whose `failure` a failed one becomes. Returns true when it
// passed.
template <typename Result>
bool record(Result& result, std::string_view id, std::string_view spec,
            std::expected<Compared, typename decltype(Result::failure)::value_type> step) {
  if (!step) {
    result.checks.push_back(
        {id, spec, CheckOutcome::kFail, step.error().expected, step.error().actual});
    result.failure = std::move(step).error();
    return false;
  }
  result.checks.push_back(
      {id, spec, step->outcome, std::move(step->expected), std::move(step->actual)});
  return true;
}

}  // namespace assay::attestation::appraisal
