// SPDX-License-Identifier: Apache-2.0
// Checks that the database file belongs to the write-ahead log beside it. SQLite does not check
// this. When somebody replaced the file by an older copy, SQLite would combine the old file with
// the newer pages of the log. Changes that were already copied from the log into the replaced file
// would be lost unnoticed.
#pragma once

#include <cstdint>

#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

// Numbers of writes begin here, so that each has six bytes: a row that keeps its size is written in
// place.
inline constexpr std::uint64_t kFirstNumber = std::uint64_t{1} << 40;

// Two numbers that are stored in the database. Each write increases `number`. `copied` is the
// `number` of the last write up to which the file alone, without the write-ahead log, is known to
// have all writes. Therefore the `number` in the file alone is never below the `copied` that is
// read through the log that belongs to the file.
struct FileAge {
  std::uint64_t number = 0;
  std::uint64_t copied = 0;
};

// Reads the numbers through the write-ahead log. Errors: data-loss when they are missing.
[[nodiscard]] Result<FileAge> load_file_age(Connection& connection);
// Compares the database file, without its write-ahead log, with what `connection` reads through the
// log. The caller must call this before anything copies the log into the file. A database without a
// log passes. After an error, `connection` does not copy the log when it closes.
// Errors: store-behind-anchor when the file is older than the file that the log belongs to;
// data-loss when the numbers are missing.
[[nodiscard]] Status check_file_age(Connection& connection);

}  // namespace assay::storage::sqlite
