// SPDX-License-Identifier: Apache-2.0
// Helpers for columns that may be NULL, and for columns that hold canonical JSON.
#pragma once

#include <optional>

#include "schemas/core/json.h"
#include "storage/sqlite/query.h"

namespace assay::storage::sqlite {

template <typename T>
Query& bind_optional(Query& query, const std::optional<T>& value) {
  return value ? query.bind(*value) : query.bind_null();
}

[[nodiscard]] inline std::optional<Timestamp> optional_time(const Query& query, int column) {
  return query.is_null(column) ? std::nullopt : std::optional(query.time(column));
}

// Returns nullopt for NULL. Errors: data-loss when the column holds no digest.
template <typename Id>
[[nodiscard]] Result<std::optional<Id>> optional_id(const Query& query, int column) {
  if (query.is_null(column)) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(Digest digest, query.digest(column));
  return std::optional<Id>(Id(std::move(digest)));
}

// Errors: data-loss when the column holds no JSON.
[[nodiscard]] inline Result<Json> json_column(const Query& query, int column) {
  auto parsed = parse_json(query.text(column));
  if (!parsed) {
    return fail(ErrorCode::kDataLoss, "a stored row holds no JSON where it should");
  }
  return parsed;
}

// Errors: data-loss when the column holds no artifact id.
[[nodiscard]] inline Result<ArtifactId> artifact_column(const Query& query, int column) {
  auto parsed = ArtifactId::parse(query.text(column));
  if (!parsed) {
    return fail(ErrorCode::kDataLoss, "a stored row names no artifact where it should");
  }
  return parsed;
}

}  // namespace assay::storage::sqlite
