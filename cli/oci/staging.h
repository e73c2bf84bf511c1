// SPDX-License-Identifier: Apache-2.0
// A directory that appears with everything in it, or not at all.
#pragma once

#include <string>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay::oci {

class Staging {
 public:
  // Makes a directory beside `path`, for this user alone. Errors: conflict when there is something
  // at `path` but an empty directory; file-unreadable when it cannot be made.
  [[nodiscard]] static Result<Staging> open(const std::string& path);
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  // Removes everything, unless it was committed.
  ~Staging();

  [[nodiscard]] int directory() const { return directory_.get(); }

  // Writes a new file; `path` has no part but names that this program chose, and directories that
  // are not there are made. Errors: file-unreadable.
  [[nodiscard]] Status write(const std::string& path, ByteView bytes);
  // Opens a new file without a name that others could open, for reading and writing.
  [[nodiscard]] Result<Descriptor> scratch() const;
  // Puts the directory in its place. Errors: conflict; file-unreadable.
  [[nodiscard]] Status commit();

 private:
  Staging(std::string path, std::string temporary, Descriptor directory);

  std::string path_;
  std::string temporary_;  // empty: nothing to remove
  Descriptor directory_;
};

// Opens a new file below `base` for writing, and makes the directories that lead to it. `path` must
// be one that check_path() accepts. No symbolic link is followed. Errors: invalid-path when
// something else is in the way; file-unreadable.
[[nodiscard]] Result<Descriptor> create_below(int base, const std::string& path);
// Makes a directory and those that lead to it. Errors: the same.
[[nodiscard]] Result<Descriptor> make_directories(int base, const std::string& path);

}  // namespace assay::oci
