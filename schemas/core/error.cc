// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/error.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::array kTable = {
#define ASSAY_ERROR(enumerator, code, http_status, retryable, title, next) \
  ErrorInfo{code, http_status, retryable, title, next},
#include "schemas/core/error_codes.def"
#undef ASSAY_ERROR
};

}  // namespace

const ErrorInfo& info(ErrorCode code) { return kTable.at(static_cast<std::size_t>(code)); }

std::size_t error_code_count() { return kTable.size(); }

std::optional<ErrorCode> error_code_from(std::string_view code) {
  const auto row = std::ranges::find(kTable, code, &ErrorInfo::code);
  return row == kTable.end() ? std::nullopt
                             : std::optional(static_cast<ErrorCode>(row - kTable.begin()));
}

std::string to_string(const Error& error) {
  std::string text(info(error.code).code);
  text += ": ";
  text += error.detail.empty() ? std::string(info(error.code).title) : error.detail;
  if (!error.where.empty()) {
    text += " (at " + error.where + ")";
  }
  return text;
}

}  // namespace assay
