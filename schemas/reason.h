// SPDX-License-Identifier: Apache-2.0
// Reasons of verdicts: why a condition does not pass. A reason is part of an answer, not an error:
// it has no HTTP status, and is explained to people instead. Texts: reason_codes.def.
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

// What the table says about one reason. The views point at string literals.
struct ReasonInfo {
  std::string_view code;         // as decisions have it
  std::string_view title;        // a sentence without a full stop
  std::string_view explanation;  // whole sentences
  std::string_view next;         // what to do about it, whole sentences
};

// Row of the table for `reason`; total over the enum.
[[nodiscard]] const ReasonInfo& info(Reason reason);

// Number of rows: reasons are 0 .. reason_count() - 1.
[[nodiscard]] std::size_t reason_count();

// The reason with this text form; nothing when the table has none.
[[nodiscard]] std::optional<Reason> reason_from(std::string_view code);

// What an error means for the condition that met it: the reason with the same text form, and
// condition-undecided for every error that has none.
[[nodiscard]] Reason reason_of(ErrorCode code);

}  // namespace assay
