// SPDX-License-Identifier: Apache-2.0
// Reads of rows that may be absent.
#pragma once

#include <optional>
#include <utility>

#include "schemas/core/error.h"

namespace assay::server {

// Turns the error not-found into nullopt. Passes every other error on.
template <typename T>
[[nodiscard]] Result<std::optional<T>> if_found(Result<T> result) {
  if (result) {
    return std::optional<T>(*std::move(result));
  }
  return result.error().code == ErrorCode::kNotFound ? Result<std::optional<T>>(std::nullopt)
                                                     : std::unexpected(std::move(result).error());
}

}  // namespace assay::server
