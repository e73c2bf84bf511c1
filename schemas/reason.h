// SPDX-License-Identifier: Apache-2.0
// Reasons of verdicts (schemas/decision.h): why a condition does not pass. A reason is part of an
// answer, not an error. A reason has an explanation for people, but no HTTP status. Texts:
// reason_codes.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "schemas/core/error.h"

namespace assay {

enum class Reason : std::uint8_t {
#define ASSAY_REASON(enumerator, code, title, explanation, next) enumerator,
#include "schemas/reason_codes.def"
#undef ASSAY_REASON
};

// One row of the table of reasons. The views point at string literals.
struct ReasonInfo {
  std::string_view code;         // text form in decisions
  std::string_view title;        // a sentence without a full stop
  std::string_view explanation;  // whole sentences
  std::string_view next;         // what to do about the reason, in whole sentences
};

// Returns the row of the table for `reason`; every reason has a row.
[[nodiscard]] const ReasonInfo& info(Reason reason);

// Returns the number of rows. Reasons are 0 .. reason_count() - 1.
[[nodiscard]] std::size_t reason_count();

// Returns the reason with this text form; nullopt when the table has none.
[[nodiscard]] std::optional<Reason> reason_from(std::string_view code);

// Returns the reason for a condition that met an error: the reason with the same text form as
// `code`, or condition-undecided when there is none.
[[nodiscard]] Reason reason_of(ErrorCode code);

}  // namespace assay
