// SPDX-License-Identifier: Apache-2.0
// Counters of what decisions read: one that rests on a snapshot is written only when they stand as
// they did there.
#pragma once

#include <cstdint>
#include <string>

#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

enum class Versioned : std::uint8_t { kSubject = 1, kNode = 2 };

// 0 when nothing was written.
[[nodiscard]] Result<std::uint64_t> load_version(Connection& connection, Versioned what,
                                                 const std::string& name);
[[nodiscard]] Status raise_version(Connection& connection, Versioned what, const std::string& name);

}  // namespace assay::storage::sqlite
