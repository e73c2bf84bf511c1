// SPDX-License-Identifier: Apache-2.0
// Files that a user names: bounded reads, secrets that nobody else may read, and writes that are
// there as a whole or not at all.
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

// The whole file, or standard input for "-". file-unreadable; limit-exceeded above `limit` bytes.
[[nodiscard]] Result<Bytes> read_file(const std::string& path,
                                      std::uint64_t limit = kMaxDocumentBytes);

// Called before a secret is read: from here on the process leaves no core dump, and no other
// process may trace it.
void protect_process();

// A token or passphrase: a regular file of this user (or root) that nobody else may read, without
// its last line break. key-unusable with what to do otherwise, also when it is empty.
[[nodiscard]] Result<SecretBytes> read_secret_file(const std::string& path);

// A private key that the TLS library will read: guarded as read_secret_file asks for, unless it is
// encrypted. key-unusable with what to do otherwise, file-unreadable.
[[nodiscard]] Status check_key_file(const std::string& path);

// Replaces or makes the file: written beside it, synced, renamed. `mode` is that of a new file.
// "-" and whatever is standard output already are written to there; devices and pipes are written
// to as they are.
[[nodiscard]] Status write_file(const std::string& path, ByteView bytes, mode_t mode = kPublicFile);
[[nodiscard]] Status write_file(const std::string& path, std::string_view text,
                                mode_t mode = kPublicFile);
// Makes the file; conflict when there is one already.
[[nodiscard]] Status write_new_file(const std::string& path, std::string_view text, mode_t mode);

[[nodiscard]] bool file_exists(const std::string& path);

}  // namespace assay::client
