// SPDX-License-Identifier: Apache-2.0
// The copy of a model that is written while its source is hashed. Nothing of the copy is seen under
// its final name before publish().
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "gpu_hash/read_sink.h"
#include "schemas/core/artifact.h"
#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

class CopyTarget final : public ReadSink {
 public:
  // Opens the destination of a copy of `expected`, and keeps other copies away from it until this
  // object ends. A directory that is there, such as the mount of a volume, gets the files of the
  // model; other destinations get that directory, and their parent must be there. Removes what an
  // earlier copy left that was killed. Errors: usage when the destination is no directory, is a
  // link, lies in the source or holds the source; conflict when another copy is under way;
  // invalid-path for a model with files under the names that this class uses; file-unreadable.
  [[nodiscard]] static Result<std::unique_ptr<CopyTarget>> open(
      const std::filesystem::path& source, const std::filesystem::path& destination,
      const Artifact& expected);
  // Removes all that was written, unless it was published.
  ~CopyTarget() override;
  CopyTarget(const CopyTarget&) = delete;
  CopyTarget& operator=(const CopyTarget&) = delete;

  // Whether the destination holds anything. Such a destination is never written to.
  [[nodiscard]] Result<bool> occupied() const;

  // Makes the directories and the empty files of the copy, where nobody but this user can look.
  // Errors: file-unreadable, also when the file system has less room than the model needs.
  [[nodiscard]] Status prepare();

  // Writes the bytes. Files that `expected` has no file entry for are left out, and so are bytes
  // beyond the size in the entry: such a copy is never published. Errors: file-unreadable when the
  // bytes cannot be written.
  [[nodiscard]] Status take(const SourceFile& file, std::uint64_t offset,
                            std::span<const std::span<std::uint8_t>> parts) override;

  // Gives the copy its final name. Into a directory that was there each file or directory at the
  // top is moved by itself, after all of them are complete. Errors: internal when a byte is
  // missing; conflict when something has the final name meanwhile; file-unreadable. After an error
  // nothing has the final name.
  [[nodiscard]] Status publish();

 private:
  struct File {
    std::uint64_t size;
    Descriptor fd{};                                   // guarded by mutex_
    std::map<std::uint64_t, std::uint64_t> written{};  // [begin, end), guarded by mutex_
  };
  using Files = std::map<std::string, File, std::less<>>;

  CopyTarget() = default;
  [[nodiscard]] Status choose(const std::filesystem::path& destination);
  [[nodiscard]] Status lock(const Descriptor& directory) const;
  [[nodiscard]] Status clear_leftovers();
  [[nodiscard]] Status make_directories(const std::string& path);
  [[nodiscard]] Result<int> open_file(const std::string& path, File& file);
  [[nodiscard]] Status note_written(const std::string& path, File& file, std::uint64_t begin,
                                    std::uint64_t end);
  [[nodiscard]] Status check_complete() const;
  [[nodiscard]] Status move_in();

  Descriptor base_;             // holds the staging directory
  std::string name_;            // of the copy in `base_`; empty: `base_` itself gets the files
  std::string staging_;         // name in `base_`
  Descriptor stage_;            // the staging directory
  bool staged_ = false;         // there is something to remove
  std::string only_;            // file that any source is; empty: sources have the names of files
  std::set<std::string> tops_;  // first parts of the files' paths
  std::set<std::string> directories_;  // made in the staging directory
  std::atomic<bool> too_long_ = false;
  std::mutex mutex_;
  Files files_;
};

}  // namespace assay::gpu_hash
