// SPDX-License-Identifier: Apache-2.0
// Small files that exist either completely or not at all, even after a crash or a power failure.
#pragma once

#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::storage {

// Makes the directory entries in the folder of `path` durable.
[[nodiscard]] Status sync_folder_of(const std::string& path);

// Makes the content of the file durable. Does not fail when the file does not exist.
[[nodiscard]] Status sync_file(const std::string& path);

// Replaces the file at `path`: writes `<path>.new` (mode 0600), syncs the new file, renames it, and
// syncs the folder. The caller must ensure that nobody else replaces the same file at the same
// time.
[[nodiscard]] Status replace_file(const std::string& path, ByteView content);

// Returns the content of the whole file. Errors: not-found when there is no file; limit-exceeded
// for more than `max_bytes`.
[[nodiscard]] Result<Bytes> read_file(const std::string& path, std::size_t max_bytes);

}  // namespace assay::storage
