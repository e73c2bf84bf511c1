// SPDX-License-Identifier: Apache-2.0
// Finds and reads the TDX vectors that are kept outside the repository, beside its root.
#pragma once

#include <filesystem>
#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/json.h"

namespace assay::attestation::tdx::testing {

// The folder of TDX vectors: $ASSAY_SHARED_VECTORS/tdx, or ../shared/vectors/tdx from the root of
// the repository. It need not exist.
[[nodiscard]] std::filesystem::path vectors_folder();

// The file's bytes; throws when it cannot be read.
[[nodiscard]] Bytes read_file(const std::filesystem::path& path);
[[nodiscard]] Json read_json(const std::filesystem::path& path);

}  // namespace assay::attestation::tdx::testing
