// SPDX-License-Identifier: Apache-2.0
// Writing a copy beside its final name, and moving it there.
#include "gpu_hash/copy/copy_target.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <dirent.h>

#include "gpu_hash/walk.h"
#include "schemas/core/handle.h"
#include "schemas/posix/files.h"

namespace assay::gpu_hash {
namespace {

// Names in a directory that gets the files of a model: while they are written, and while they are
// moved.
constexpr std::string_view kStaging = ".assay-fill";
constexpr std::string_view kMoving = ".assay-fill-moving";

constexpr mode_t kDirectoryMode = 0755;  // as others in the pod read the model
constexpr mode_t kFileMode = 0644;
constexpr mode_t kStagingMode = 0700;
constexpr std::size_t kMaxVectors = 64;
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

using OpenDir = Handle<DIR, closedir>;

std::unexpected<Error> cannot_write(int error, std::string where) {
  return fail(ErrorCode::kFileUnreadable,
              "the copy cannot be written: " + std::generic_category().message(error),
              std::move(where));
}

std::string top_of(std::string_view path) { return std::string(path.substr(0, path.find('/'))); }

// Names in a directory, without "." and "..". Null: it cannot be read.
std::optional<std::set<std::string>> names_in(int directory) {
  // Another descriptor of the directory, since the list closes its own and moves its offset.
  const int again = ::openat(directory, ".", kOpenDirectory);
  const OpenDir list(again < 0 ? nullptr : ::fdopendir(again));
  if (!list) {
    return std::nullopt;
  }
  std::set<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") {
      names.insert(name);
    }
  }
  return errno == 0 ? std::optional(std::move(names)) : std::nullopt;
}

// Removes what has this name, with all that is below. Follows no link. Sets errno on failure.
bool remove_tree(int directory, const std::string& name, std::size_t depth = 0) {
  if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) {
    return true;
  }
  if ((errno != EISDIR && errno != EPERM) || depth > kMaxWalkDepth + 1) {
    return false;
  }
  const Descriptor inner(::openat(directory, name.c_str(), kOpenDirectory));
  const auto names = inner ? names_in(inner.get()) : std::nullopt;
  if (!names) {
    return false;
  }
  for (const std::string& below : *names) {
    if (!remove_tree(inner.get(), below, depth + 1)) {
      return false;
    }
  }
  return ::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0;
}

// Whether `path` or a directory above it is the directory `wanted`. Paths are compared by what they
// lead to, since one directory may have several names.
bool lies_in(std::filesystem::path path, const struct stat& wanted) {
  for (;;) {
    struct stat here{};
    if (::stat(path.c_str(), &here) == 0 && here.st_dev == wanted.st_dev &&
        here.st_ino == wanted.st_ino) {
      return true;
    }
    if (path == path.parent_path()) {
      return false;
    }
    path = path.parent_path();
  }
}

// `there` is the destination, or its parent when it is not there yet.
Status check_apart(const std::filesystem::path& source, const std::filesystem::path& there,
                   bool exists) {
  std::error_code error;
  const std::filesystem::path from = std::filesystem::canonical(source, error);
  if (error) {
    return fail(ErrorCode::kFileUnreadable, error.message(), source.string());
  }
  const std::filesystem::path to = std::filesystem::canonical(there, error);
  struct stat from_status{};
  struct stat to_status{};
  if (error || ::stat(from.c_str(), &from_status) != 0 || ::stat(to.c_str(), &to_status) != 0) {
    return fail(ErrorCode::kFileUnreadable, "the destination cannot be looked at", there.string());
  }
  if (S_ISDIR(from_status.st_mode) && lies_in(to, from_status)) {
    return fail(ErrorCode::kUsage, "The destination lies in the source", there.string());
  }
  if (exists && lies_in(from.parent_path(), to_status)) {
    return fail(ErrorCode::kUsage, "The source lies in the destination", there.string());
  }
  return {};
}

// Writes all of `vectors` at `offset`; they are used up. Sets errno on failure.
bool write_vectors(int file, std::span<iovec> vectors, std::uint64_t offset) {
  while (!vectors.empty()) {
    const ssize_t put = ::pwritev(file, vectors.data(), static_cast<int>(vectors.size()),
                                  static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put <= 0) {
      errno = put == 0 ? EIO : errno;
      return false;
    }
    offset += static_cast<std::uint64_t>(put);
    auto done = static_cast<std::size_t>(put);
    while (!vectors.empty() && done >= vectors.front().iov_len) {
      done -= vectors.front().iov_len;
      vectors = vectors.subspan(1);
    }
    if (done != 0) {
      vectors.front().iov_base = static_cast<std::uint8_t*>(vectors.front().iov_base) + done;
      vectors.front().iov_len -= done;
    }
  }
  return true;
}

bool write_parts(int file, std::span<const std::span<std::uint8_t>> parts, std::uint64_t offset) {
  std::array<iovec, kMaxVectors> vectors{};
  while (!parts.empty()) {
    const auto batch = parts.first(std::min(parts.size(), kMaxVectors));
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      vectors.at(i) = {batch[i].data(), batch[i].size()};
      size += batch[i].size();
    }
    if (!write_vectors(file, std::span(vectors).first(batch.size()), offset)) {
      return false;
    }
    offset += size;
    parts = parts.subspan(batch.size());
  }
  return true;
}

// Renames, but never over anything where the file system can promise that.
bool rename_new(int from, const std::string& name, int to, const std::string& as) {
  if (::renameat2(from, name.c_str(), to, as.c_str(), RENAME_NOREPLACE) == 0) {
    return true;
  }
  if (errno != EINVAL && errno != ENOSYS) {
    return false;
  }
  struct stat status{};
  if (::fstatat(to, as.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return false;
  }
  return ::renameat(from, name.c_str(), to, as.c_str()) == 0;
}

std::unexpected<Error> cannot_move(const std::string& name) {
  if (errno == EEXIST || errno == ENOTEMPTY) {
    return fail(ErrorCode::kConflict, "something came to the destination meanwhile", name);
  }
  return cannot_write(errno, name);
}

}  // namespace

Result<std::unique_ptr<CopyTarget>> CopyTarget::open(const std::filesystem::path& source,
                                                     const std::filesystem::path& destination,
                                                     const Artifact& expected) {
  std::unique_ptr<CopyTarget> target(new CopyTarget());
  for (const Entry& entry : expected.entries) {
    if (const auto* file = std::get_if<FileEntry>(&entry)) {
      target->files_.emplace(file->path, File{file->size});
      target->tops_.insert(top_of(file->path));
    }
  }
  for (const std::string_view own : {kStaging, kMoving}) {
    if (target->tops_.contains(std::string(own))) {
      return fail(ErrorCode::kInvalidPath, "this name is used while a model is copied",
                  std::string(own));
    }
  }
  std::error_code ignored;
  if (target->files_.size() == 1 && !std::filesystem::is_directory(source, ignored)) {
    target->only_ = target->files_.begin()->first;
  }
  ASSAY_TRY(target->choose(destination));
  const std::filesystem::path parent = destination.parent_path();
  ASSAY_TRY(check_apart(
      source,
      target->name_.empty() ? destination : (parent.empty() ? std::filesystem::path(".") : parent),
      target->name_.empty()));
  ASSAY_TRY(target->clear_leftovers());
  return target;
}

// Opens `base_`, and says what lies in it.
Status CopyTarget::choose(const std::filesystem::path& destination) {
  struct stat status{};
  if (::lstat(destination.c_str(), &status) == 0) {
    if (!S_ISDIR(status.st_mode)) {
      return fail(
          ErrorCode::kUsage,
          S_ISLNK(status.st_mode) ? "The destination is a link" : "The destination is no directory",
          destination.string());
    }
    staging_ = kStaging;
    base_ = Descriptor(::open(destination.c_str(), kOpenDirectory));
    return base_ ? lock(base_) : cannot_write(errno, destination.string());
  }
  if (errno != ENOENT || destination.filename().empty()) {
    return cannot_write(errno, destination.string());
  }
  name_ = destination.filename().string();
  staging_ = "." + name_ + std::string(kStaging);
  const std::filesystem::path parent = destination.parent_path();
  base_ =
      Descriptor(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return base_ ? Status{} : Status(cannot_write(errno, parent.string()));
}

Status CopyTarget::lock(const Descriptor& directory) const {
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) == 0) {
    return {};
  }
  return errno == EWOULDBLOCK
             ? fail(ErrorCode::kConflict, "another process copies to this destination", name_)
             : Status(cannot_write(errno, name_));
}

// What a copy left that was killed. Files that it had begun to move are removed with the rest: they
// were complete, but the model was not.
Status CopyTarget::clear_leftovers() {
  struct stat status{};
  if (!name_.empty()) {
    const Descriptor left(::openat(base_.get(), staging_.c_str(), kOpenDirectory));
    if (left) {
      ASSAY_TRY(lock(left));
    }
    return remove_tree(base_.get(), staging_) ? Status{} : Status(cannot_write(errno, staging_));
  }
  const std::string moving(kMoving);
  if (::fstatat(base_.get(), moving.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    for (const std::string& top : tops_) {
      if (!remove_tree(base_.get(), top)) {
        return cannot_write(errno, top);
      }
    }
  }
  for (const std::string& name : {moving, staging_}) {
    if (!remove_tree(base_.get(), name)) {
      return cannot_write(errno, name);
    }
  }
  return {};
}

CopyTarget::~CopyTarget() {
  if (staged_) {
    (void)remove_tree(base_.get(), staging_);
  }
}

Result<bool> CopyTarget::occupied() const {
  if (!name_.empty()) {
    return false;
  }
  const auto names = names_in(base_.get());
  if (!names) {
    return cannot_write(errno, name_);
  }
  return !names->empty();
}

Status CopyTarget::prepare() {
  std::uint64_t needed = 0;
  for (const auto& [path, file] : files_) {
    needed += file.size;
  }
  struct statvfs room{};
  if (::fstatvfs(base_.get(), &room) == 0 && room.f_blocks != 0 &&
      needed / std::max<std::uint64_t>(room.f_frsize, 1) > room.f_bavail) {
    return cannot_write(ENOSPC, name_);
  }
  if (::mkdirat(base_.get(), staging_.c_str(), kStagingMode) != 0) {
    return cannot_write(errno, staging_);
  }
  staged_ = true;
  stage_ = Descriptor(::openat(base_.get(), staging_.c_str(), kOpenDirectory));
  if (!stage_) {
    return cannot_write(errno, staging_);
  }
  if (!name_.empty()) {
    ASSAY_TRY(lock(stage_));
  }
  for (auto& [path, file] : files_) {
    ASSAY_TRY(make_directories(path));
    if (file.size == 0) {
      ASSAY_TRY(open_file(path, file));
      file.fd = Descriptor();
    }
  }
  return {};
}

Status CopyTarget::make_directories(const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    if (!directories_.insert(directory).second) {
      continue;
    }
    const std::size_t last = directory.rfind('/');
    const Descriptor parent =
        last == std::string::npos
            ? Descriptor(::dup(stage_.get()))
            : open_below(stage_.get(), directory.substr(0, last), O_PATH | O_DIRECTORY);
    const std::string name = directory.substr(last == std::string::npos ? 0 : last + 1);
    // The mode is set apart from mkdirat(), because the umask takes bits away there.
    if (!parent || ::mkdirat(parent.get(), name.c_str(), kDirectoryMode) != 0 ||
        ::fchmodat(parent.get(), name.c_str(), kDirectoryMode, 0) != 0) {
      return cannot_write(errno, directory);
    }
  }
  return {};
}

// Returns the number of the file's descriptor, which stays open until the file is complete.
Result<int> CopyTarget::open_file(const std::string& path, File& file) {
  if (file.fd) {
    return file.fd.get();
  }
  const std::size_t slash = path.rfind('/');
  const Descriptor parent =
      slash == std::string::npos
          ? Descriptor(::dup(stage_.get()))
          : open_below(stage_.get(), path.substr(0, slash), O_PATH | O_DIRECTORY);
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (parent) {
    file.fd = Descriptor(::openat(parent.get(), name.c_str(),
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  }
  if (!file.fd || ::fchmod(file.fd.get(), kFileMode) != 0) {
    return cannot_write(errno, path);
  }
  // Takes the room at once. File systems that cannot do that find out while they write.
  if (file.size != 0 && ::fallocate(file.fd.get(), 0, 0, static_cast<off_t>(file.size)) != 0 &&
      errno == ENOSPC) {
    return cannot_write(errno, path);
  }
  return file.fd.get();
}

Status CopyTarget::take(const SourceFile& file, std::uint64_t offset,
                        std::span<const std::span<std::uint8_t>> parts) {
  const std::string& path = only_.empty() ? file.label() : only_;
  const auto found = files_.find(path);
  if (found == files_.end()) {
    return {};
  }
  File& into = found->second;
  std::uint64_t size = 0;
  for (const std::span<std::uint8_t> part : parts) {
    size += part.size();
  }
  if (size == 0) {
    return {};
  }
  if (offset > into.size || size > into.size - offset) {
    too_long_ = true;
    return {};
  }
  int fd = -1;
  {
    const std::scoped_lock guard(mutex_);
    ASSAY_ASSIGN(fd, open_file(path, into));
  }
  if (!write_parts(fd, parts, offset)) {
    return cannot_write(errno, path);
  }
  return note_written(path, into, offset, offset + size);
}

// Closes the file with its last byte. Others still write to it only before that, since their bytes
// are missing until they are noted.
Status CopyTarget::note_written(const std::string& path, File& file, std::uint64_t begin,
                                std::uint64_t end) {
  const std::scoped_lock guard(mutex_);
  auto next = file.written.lower_bound(begin);
  const bool overlaps = (next != file.written.end() && next->first < end) ||
                        (next != file.written.begin() && std::prev(next)->second > begin);
  if (overlaps) {
    return fail(ErrorCode::kInternal, "bytes of a file were read twice", path);
  }
  if (next != file.written.end() && next->first == end) {
    end = next->second;
    next = file.written.erase(next);
  }
  if (next != file.written.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
  } else {
    file.written.emplace(begin, end);
  }
  const bool complete = file.written.size() == 1 && file.written.begin()->first == 0 &&
                        file.written.begin()->second == file.size;
  return !complete || file.fd.close() ? Status{} : Status(cannot_write(errno, path));
}

Status CopyTarget::check_complete() const {
  if (too_long_) {
    return fail(ErrorCode::kInternal, "a file is longer than its entry says", name_);
  }
  for (const auto& [path, file] : files_) {
    const bool complete =
        file.size == 0 || (file.written.size() == 1 && file.written.begin()->first == 0 &&
                           file.written.begin()->second == file.size);
    if (!complete) {
      return fail(ErrorCode::kInternal, "bytes of a file were not read", path);
    }
  }
  return {};
}

Status CopyTarget::publish() {
  ASSAY_TRY(check_complete());
  if (name_.empty()) {
    return move_in();
  }
  if (::fchmod(stage_.get(), kDirectoryMode) != 0 ||
      !rename_new(base_.get(), staging_, base_.get(), name_)) {
    return cannot_move(name_);
  }
  staged_ = false;
  return {};
}

// From the first rename on, an earlier end of this program is seen by the name kMoving.
Status CopyTarget::move_in() {
  const std::string moving(kMoving);
  if (!rename_new(base_.get(), staging_, base_.get(), moving)) {
    return cannot_move(staging_);
  }
  staging_ = moving;
  std::set<std::string> moved;
  const auto give_up = [&](const std::string& name) -> Status {
    const std::unexpected<Error> error = cannot_move(name);
    for (const std::string& done : moved) {
      (void)remove_tree(base_.get(), done);
    }
    return error;
  };
  for (const std::string& top : tops_) {
    if (!rename_new(stage_.get(), top, base_.get(), top)) {
      return give_up(top);
    }
    moved.insert(top);
  }
  if (::unlinkat(base_.get(), moving.c_str(), AT_REMOVEDIR) != 0) {
    return give_up(moving);
  }
  staged_ = false;
  return {};
}

}  // namespace assay::gpu_hash
