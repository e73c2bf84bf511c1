// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/messages.h"

namespace assay::messages {

Problem problem_of(const Status& status) {
  if (status) {
    return {};
  }
  const Error& error = status.error();
  return {std::string(info(error.code).code), error.detail, error.where};
}

std::optional<Error> error_of(const Problem& problem) {
  if (problem.code.empty()) {
    return std::nullopt;
  }
  const std::optional<ErrorCode> code = error_code_from(problem.code);
  return Error{code.value_or(ErrorCode::kInternal), problem.detail, problem.where};
}

}  // namespace assay::messages
