// SPDX-License-Identifier: Apache-2.0
// The file of a verifier plug-in: read once, and kept as bytes that nobody can change.
#pragma once

#include <string>

#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay::attestation::plugin {

// A plug-in as it was read.
struct PluginFile {
  Descriptor memory;  // a sealed memory file: what was hashed is what is loaded
  Digest sha256;
};

// Reads the file `path` into memory and hashes what was read. A symbolic link is not followed, so
// that the name that was configured is the file that is read. Errors: plugin-unusable for what is
// no regular file, is empty or longer than kMaxPluginBytes, or cannot be read.
[[nodiscard]] Result<PluginFile> read_plugin(const std::string& path);

// As read_plugin(). Errors: plugin-unusable also for a file with another SHA-256 than `pin`.
[[nodiscard]] Result<PluginFile> read_pinned_plugin(const std::string& path, const Digest& pin);

}  // namespace assay::attestation::plugin
