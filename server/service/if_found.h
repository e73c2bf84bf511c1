// SPDX-License-Identifier: Apache-2.0
// Rows that need not be there.
#pragma once

#include <optional>
#include <utility>

#include "schemas/core/error.h"

namespace assay::server {

// Nothing instead of not-found; every other error stays one.
template <typename T>
[[nodiscard]] Result<std::optional<T>> if_found(Result<T> result) {
  if (result) {
    return std::optional<T>(*std::move(result));
  }
  return result.error().code == ErrorCode::kNotFound ? Result<std::optional<T>>(std::nullopt)
                                                     : std::unexpected(std::move(result).error());
}

}  // namespace assay::server
