// SPDX-License-Identifier: Apache-2.0
#include "schemas/reason.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::array kTable = {
#define ASSAY_REASON(enumerator, code, title, explanation, next) \
  ReasonInfo{code, title, explanation, next},
#include "schemas/reason_codes.def"
#undef ASSAY_REASON
};

constexpr std::optional<Reason> find(std::string_view code) {
  const auto* const row = std::ranges::find(kTable, code, &ReasonInfo::code);
  return row == kTable.end() ? std::nullopt
                             : std::optional(static_cast<Reason>(row - kTable.begin()));
}

constexpr std::array kOfErrors = {
#define ASSAY_ERROR(enumerator, code, http_status, retryable, title, next) \
  find(code).value_or(Reason::kConditionUndecided),
#include "schemas/core/error_codes.def"
#undef ASSAY_ERROR
};

}  // namespace

const ReasonInfo& info(Reason reason) { return kTable.at(static_cast<std::size_t>(reason)); }

std::size_t reason_count() { return kTable.size(); }

std::optional<Reason> reason_from(std::string_view code) { return find(code); }

Reason reason_of(ErrorCode code) { return kOfErrors.at(static_cast<std::size_t>(code)); }

}  // namespace assay
