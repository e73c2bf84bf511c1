// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/place.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>

namespace assay::storage::sqlite {

Result<Place> Place::of(const std::string& path) {
  Place place;
  for (const std::string& name : {path, path + "-wal"}) {
    struct stat status{};
    if (::stat(name.c_str(), &status) == 0) {
      place.files_.push_back({name, status.st_dev, status.st_ino});
    } else if (errno != ENOENT || name == path) {
      return fail(ErrorCode::kStorage,
                  std::string("the database cannot be looked at: ") + std::strerror(errno));
    }
  }
  return place;
}

Status Place::check() const {
  for (const File& file : files_) {
    struct stat status{};
    if (::stat(file.path.c_str(), &status) != 0 || status.st_dev != file.device ||
        status.st_ino != file.number) {
      return fail(ErrorCode::kStorage,
                  "the database in use is no longer at its path: stop the service, and put the "
                  "file back; see docs/recovery.md");
    }
  }
  return {};
}

}  // namespace assay::storage::sqlite
