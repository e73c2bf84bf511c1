// SPDX-License-Identifier: Apache-2.0
// File system calls that several folders need. Failures set errno, so that each caller can describe
// the failure in its own words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/posix/descriptor.h"

namespace assay {

// Opens `path` below the directory `base`, part by part. Does not follow symbolic links, and
// refuses an empty part, "." and ".." (EINVAL), so that no file outside of `base` is reached.
// `flags` are those of open(2); O_NOFOLLOW and O_CLOEXEC are added. Returns an empty descriptor on
// failure.
[[nodiscard]] Descriptor open_below(int base, std::string_view path, int flags);

// Fills `out` from byte `offset` of a file. Returns the number of bytes read, which is less than
// the size of `out` only at the end of the file. Returns -1 on an error.
[[nodiscard]] std::int64_t read_at(int file, std::uint64_t offset, std::span<std::uint8_t> out);

// Fills `out` from the current position of a file or pipe. Returns as read_at() does.
[[nodiscard]] std::int64_t read_up_to(int file, std::span<std::uint8_t> out);

// Writes all bytes. Returns false on an error; some bytes may then have been written.
[[nodiscard]] bool write_all(int file, ByteView bytes);

// Makes the directory entries in the folder of `path` durable. Returns false on an error.
[[nodiscard]] bool sync_folder_of(const std::string& path);

}  // namespace assay
