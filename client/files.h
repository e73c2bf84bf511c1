// SPDX-License-Identifier: Apache-2.0
// Files that a user names. Reads are bounded; files with secrets must be accessible to their owner
// alone; files are written completely or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::client {

inline constexpr std::uint64_t kMaxDocumentBytes = std::uint64_t{64} << 20;

inline constexpr mode_t kPublicFile = 0644;
inline constexpr mode_t kPrivateFile = 0600;

// Reads the whole file, or standard input for "-". Errors: file-unreadable; limit-exceeded for more
// than `limit` bytes.
[[nodiscard]] Result<Bytes> read_file(const std::string& path,
                                      std::uint64_t limit = kMaxDocumentBytes);

// Protects the secrets in this process: from this call on the process leaves no core dump, and no
// other unprivileged process may trace it. Must be called before a secret is read.
void protect_process();

// Reads a private key of at most 64 KiB, whoever may access it: loading it looks at that. Does not
// wait for the writer of a pipe. Errors: file-unreadable; key-unusable for what is no regular file;
// limit-exceeded.
[[nodiscard]] Result<SecretBytes> read_key_file(const std::string& path);

// Reads a token or passphrase without its last line break. The file must be guarded as
// schemas/posix/secret_file.h says. Errors: those of read_guarded(); key-unusable for an empty
// file.
[[nodiscard]] Result<SecretBytes> read_secret_file(const std::string& path);

// Replaces or creates the file: writes a temporary file next to `path`, syncs this file and renames
// it to `path`. `mode` is the mode of a new file. With "-", or when `path` is the same file as
// standard output, writes to standard output. Devices and pipes are written in place.
[[nodiscard]] Status write_file(const std::string& path, ByteView bytes, mode_t mode = kPublicFile);
[[nodiscard]] Status write_file(const std::string& path, std::string_view text,
                                mode_t mode = kPublicFile);
// Creates the file. Errors: conflict when the file already exists.
[[nodiscard]] Status write_new_file(const std::string& path, std::string_view text, mode_t mode);

[[nodiscard]] bool file_exists(const std::string& path);

}  // namespace assay::client
