// SPDX-License-Identifier: Apache-2.0
// Entries of cut files for tests that need no bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schemas/core/file_root.h"

namespace assay::test {

// The entry of a file whose header is `cut`, with the root that follows from `tensors`. They must
// fill the file.
inline FileEntry cut_file(std::string path, std::uint64_t size, Cut cut,
                          const std::vector<TensorEntry>& tensors,
                          const TreeParameters& parameters = {}) {
  FileEntry file{std::move(path), size, cut.root, std::move(cut)};
  std::vector<const TensorEntry*> listed;
  for (const TensorEntry& tensor : tensors) {
    listed.push_back(&tensor);
  }
  PaddingRoots padding(parameters);
  file.root = cut_file_root(file, std::move(listed), padding).value();
  return file;
}

}  // namespace assay::test
