// SPDX-License-Identifier: Apache-2.0
// An OCI image layout on disk. Spec: opencontainers/image-spec v1.1, image-layout.md.
#pragma once

#include <memory>
#include <string>

#include "cli/oci/source.h"

namespace assay::oci {

// Opens the layout in a directory. No file outside of it is reached: symbolic links below it are
// not followed. Errors: file-unreadable; schema-violation for a directory that is no layout.
[[nodiscard]] Result<std::unique_ptr<Source>> open_layout(const std::string& directory);

}  // namespace assay::oci
