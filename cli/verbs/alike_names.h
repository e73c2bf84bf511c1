// SPDX-License-Identifier: Apache-2.0
// Names that some file systems take for one: those of macOS and Windows, and ext4 with casefold.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::cli {

// Returns the paths of two files or directories in one directory whose names differ only by the
// case of letters or by the normal form of Unicode (NFC and NFD). `paths` are valid UTF-8, sorted
// as bytes. Of three such names, the first is in two pairs.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> alike_names(
    const std::vector<std::string_view>& paths);

}  // namespace assay::cli
