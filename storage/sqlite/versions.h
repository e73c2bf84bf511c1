// SPDX-License-Identifier: Apache-2.0
// Counters that rise when the data that decisions read changes. A decision that was made from a
// snapshot is written only when the counters still have the values that they had in the snapshot.
#pragma once

#include <cstdint>
#include <string>

#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

enum class Versioned : std::uint8_t { kSubject = 1, kNode = 2, kAllStatements = 3 };

// Returns 0 when the counter has never risen.
[[nodiscard]] Result<std::uint64_t> load_version(Connection& connection, Versioned what,
                                                 const std::string& name);
[[nodiscard]] Status raise_version(Connection& connection, Versioned what, const std::string& name);

}  // namespace assay::storage::sqlite
