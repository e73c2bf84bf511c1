// SPDX-License-Identifier: Apache-2.0
// Whether the database file belongs to its write-ahead log. SQLite does not look: over an older
// copy of the file it would lay the newer pages of the log, and what was copied into the file
// meanwhile would be as it was before.
#pragma once

#include <cstdint>
#include <string>

#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

// Each write counts up `number`. `copied` is the number of the last write of which it is known that
// the file had everything up to it, without the write-ahead log. So a file alone never has a number
// below the `copied` of its log.
struct FileAge {
  std::uint64_t number = 0;
  std::uint64_t copied = 0;
};

// Reads the numbers as the connection sees them. Errors: data-loss when they are missing.
[[nodiscard]] Result<FileAge> load_file_age(Connection& connection);
// Stores the numbers, inside of a transaction.
[[nodiscard]] Status store_file_age(Connection& connection, const FileAge& age);

// Compares the file at `path` alone with what `connection` sees through the write-ahead log. Call
// before anything copies the log into the file. A database without a log passes. After a refusal,
// `connection` does not copy the log when it closes.
// Errors: store-behind-anchor when the file is older than what its log continues from; data-loss
// when the numbers are missing.
[[nodiscard]] Status check_file_age(Connection& connection, const std::string& path);

}  // namespace assay::storage::sqlite
