// SPDX-License-Identifier: Apache-2.0
// Checks whether the files of the database are still the ones that were opened. The check is needed
// because writes into a file that was moved or removed succeed, but are lost.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "schemas/core/error.h"

namespace assay::storage::sqlite {

// Threading: any thread.
class Place {
 public:
  // Remembers which files lie at `path` and at the path of its write-ahead log. The caller must
  // have opened the database before. Errors: storage when there is no file at `path`.
  [[nodiscard]] static Result<Place> of(const std::string& path);

  // Errors: storage when one of the files was moved, removed or replaced.
  [[nodiscard]] Status check() const;

 private:
  struct File {
    std::string path;
    dev_t device;
    ino_t number;
  };
  std::vector<File> files_;
};

}  // namespace assay::storage::sqlite
