// SPDX-License-Identifier: Apache-2.0
// Small files that are there as a whole or not at all, whatever happens to process or power.
#pragma once

#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::storage {

// Makes the names in the folder of `path` durable.
[[nodiscard]] Status sync_folder_of(const std::string& path);

// Makes what was written to the file durable; nothing when there is none.
[[nodiscard]] Status sync_file(const std::string& path);

// Replaces `path`: writes `<path>.new` (mode 0600), syncs it, renames it, syncs the folder. Not for
// several writers at once.
[[nodiscard]] Status replace_file(const std::string& path, ByteView content);

// The whole file; not-found when there is none, limit-exceeded beyond `max_bytes`.
[[nodiscard]] Result<Bytes> read_file(const std::string& path, std::size_t max_bytes);

}  // namespace assay::storage
