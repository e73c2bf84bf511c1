// SPDX-License-Identifier: Apache-2.0
// System calls on files that several folders need. Failures are told by errno, so that each caller
// says in its own words what failed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/posix/descriptor.h"

namespace assay {

// Opens `path` below the directory `base`, part by part: no part is followed as a symbolic link,
// and an empty part, "." and ".." are refused (EINVAL), so nothing outside is reached. `flags` are
// those of open(2); O_NOFOLLOW and O_CLOEXEC are added. Returns an empty descriptor on failure.
[[nodiscard]] Descriptor open_below(int base, std::string_view path, int flags);

// Fills `out` from byte `offset` of a file. Returns the bytes read: fewer only when the file ends
// before; -1 on an error.
[[nodiscard]] std::int64_t read_at(int file, std::uint64_t offset, std::span<std::uint8_t> out);

// Fills `out` from where the file or pipe stands. As read_at().
[[nodiscard]] std::int64_t read_up_to(int file, std::span<std::uint8_t> out);

// Writes all bytes; false on an error, when a part may have been written.
[[nodiscard]] bool write_all(int file, ByteView bytes);

// Makes names in the folder that holds `path` durable.
[[nodiscard]] bool sync_folder_of(const std::string& path);

}  // namespace assay
