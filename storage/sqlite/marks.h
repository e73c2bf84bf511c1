// SPDX-License-Identifier: Apache-2.0
// High-water marks as the log and the stored evidence say them, beside the table high_waters. A
// mark that is gone would let older collateral pass for the newest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

// Raises the marks to what they say, with the collateral that was kept. Returns how many rose. The
// caller must have removed the rows that do not fit their seals.
[[nodiscard]] Result<std::uint64_t> remake_marks(Connection& connection);

}  // namespace assay::storage::sqlite
