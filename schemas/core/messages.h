// SPDX-License-Identifier: Apache-2.0
// What messages between a process and one that it started have in common
// (schemas/core/message_codec.h writes and reads them).
#pragma once

#include <optional>
#include <string>

#include "schemas/core/error.h"

namespace assay::messages {

// Largest size in bytes of one text.
inline constexpr std::size_t kMaxText = 4096;

// An error, with its code as text; an empty code means that there is no error.
struct Problem {
  std::string code;
  std::string detail;
  std::string where;
  bool operator==(const Problem&) const = default;
};
[[nodiscard]] Problem problem_of(const Status& status);
// Returns the error in `problem`, with the code internal when `problem.code` does not exist.
// Returns nullopt when there is no error.
[[nodiscard]] std::optional<Error> error_of(const Problem& problem);

}  // namespace assay::messages
