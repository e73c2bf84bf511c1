// SPDX-License-Identifier: Apache-2.0
// The names of an enumeration in documents: one table, looked up both ways.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "schemas/core/error.h"
#include "schemas/core/nearest.h"

namespace assay {

template <typename E, std::size_t N>
struct Names {
  std::array<std::pair<E, std::string_view>, N> rows;

  // Returns the name; "unknown" when the table has none.
  [[nodiscard]] constexpr std::string_view of(E wanted) const {
    for (const auto& [value, name] : rows) {
      if (value == wanted) {
        return name;
      }
    }
    return "unknown";
  }
  // Errors: `code` for a name that the table does not have; `what` says which there are. The error
  // names the one that is likely meant.
  [[nodiscard]] Result<E> parse(std::string_view text, std::string_view what,
                                ErrorCode code = ErrorCode::kInvalidParameter) const {
    for (const auto& [value, name] : rows) {
      if (name == text) {
        return value;
      }
    }
    std::array<std::string_view, N> known;
    for (std::size_t i = 0; i < N; ++i) {
      known[i] = rows[i].second;
    }
    return fail(code, std::string(what) + did_you_mean(text, known));
  }
};

}  // namespace assay
