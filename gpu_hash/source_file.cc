// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/source_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/uio.h>
#include <system_error>

namespace assay::gpu_hash {
namespace {

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::unexpected<Error> unreadable(int error, const std::string& label) {
  return fail(ErrorCode::kFileUnreadable, std::generic_category().message(error), label);
}

std::unexpected<Error> changed(const char* how, const std::string& label) {
  return fail(ErrorCode::kFileChanged, how, label);
}

// O_NONBLOCK: a FIFO or device that took the file's place must not block the open.
constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

// Parts of a file that one system call fills; the kernel takes up to 1024.
constexpr std::size_t kMaxParts = 64;

// Splits "a/b/c" into the directory "a/b" and the name "c".
std::pair<std::string_view, std::string> split_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) {
    return {{}, std::string(path)};
  }
  return {path.substr(0, slash), std::string(path.substr(slash + 1))};
}

// Status of what is at `path` below `base`, a symlink itself included; sets errno on failure.
bool stat_beneath(int base, std::string_view path, struct stat& out) {
  const auto [parent, last] = split_path(path);
  UniqueFd directory;
  if (!parent.empty()) {
    directory = open_beneath(base, parent, O_PATH | O_DIRECTORY);
    if (!directory) {
      return false;
    }
  }
  return ::fstatat(directory ? directory.get() : base, last.c_str(), &out, AT_SYMLINK_NOFOLLOW) ==
         0;
}

}  // namespace

FileIdentity identity_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

Result<std::shared_ptr<const Directory>> Directory::open(const std::filesystem::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    if (error == ENOTDIR) {
      return fail(ErrorCode::kUnsupportedFileType, "not a directory", path.filename().string());
    }
    return unreadable(error, path.filename().string());
  }
  return std::make_shared<const Directory>(std::move(fd));
}

UniqueFd open_beneath(int base, std::string_view path, int flags) {
  UniqueFd directory;
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string part(path.substr(0, slash));
    const int parent = directory ? directory.get() : base;
    if (slash == std::string_view::npos) {
      return UniqueFd(::openat(parent, part.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    }
    directory =
        UniqueFd(::openat(parent, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory) {
      return {};
    }
    path.remove_prefix(slash + 1);
  }
}

SourceFile::SourceFile(std::shared_ptr<const Directory> base, std::string path, std::string label,
                       FileIdentity seen)
    : base_(std::move(base)), path_(std::move(path)), label_(std::move(label)), seen_(seen) {}

Result<std::shared_ptr<const SourceFile>> SourceFile::find(std::shared_ptr<const Directory> base,
                                                           std::string path, std::string label) {
  struct stat status{};
  if (!stat_beneath(base->fd(), path, status)) {
    return unreadable(errno, label);
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kUnsupportedFileType, "only regular files can be hashed", label);
  }
  return std::make_shared<const SourceFile>(std::move(base), std::move(path), std::move(label),
                                            identity_of(status));
}

Result<std::shared_ptr<const SourceFile>> SourceFile::find(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  ASSAY_ASSIGN(auto base, Directory::open(parent.empty() ? "." : parent));
  const std::string last = path.filename().string();
  if (last.empty()) {
    return fail(ErrorCode::kUnsupportedFileType, "a directory is not a file", path.string());
  }
  return find(std::move(base), last, last);
}

Result<std::shared_ptr<const OpenFile>> SourceFile::open() const {
  const std::scoped_lock lock(mutex_);
  if (auto held = open_.lock()) {
    return held;
  }
  // Looked at once more before it is opened, because opening a device can have effects.
  ASSAY_TRY(check_unchanged());
  UniqueFd fd = open_beneath(base_->fd(), path_, kReadFlags);
  if (!fd) {
    const int error = errno;
    if (error == ENOENT || error == ELOOP || error == ENOTDIR || error == ENXIO) {
      return changed("the file was replaced after it was found", label_);
    }
    return unreadable(error, label_);
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) {
    return unreadable(errno, label_);
  }
  if (!S_ISREG(status.st_mode) || identity_of(status) != seen_) {
    return changed("the file changed after it was found", label_);
  }
  // Only a hint: doubles the kernel's read-ahead.
  (void)::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  auto opened = std::make_shared<const OpenFile>(*this, std::move(fd));
  open_ = opened;
  return opened;
}

Status SourceFile::check_unchanged() const {
  struct stat status{};
  if (!stat_beneath(base_->fd(), path_, status)) {
    return changed("the file is gone", label_);
  }
  if (!S_ISREG(status.st_mode) || identity_of(status) != seen_) {
    return changed("the file changed after it was found", label_);
  }
  return {};
}

Status OpenFile::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  return read(offset, std::span<const std::span<std::uint8_t>>(&out, 1));
}

Status OpenFile::read(std::uint64_t offset, std::span<const std::span<std::uint8_t>> parts) const {
  std::array<iovec, kMaxParts> vectors{};
  std::size_t skip = 0;  // bytes of the first part that are there already
  while (!parts.empty()) {
    const std::size_t count = std::min(parts.size(), vectors.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<std::uint8_t> rest = parts[i].subspan(i == 0 ? skip : 0);
      vectors[i] = {rest.data(), rest.size()};
    }
    const ssize_t got = parts.front().size() == skip
                            ? 0
                            : ::preadv(fd_.get(), vectors.data(), static_cast<int>(count),
                                       static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) {
        continue;
      }
      return unreadable(errno, source_.label_);
    }
    if (got == 0 && parts.front().size() != skip) {
      return changed("the file became shorter while it was read", source_.label_);
    }
    offset += static_cast<std::uint64_t>(got);
    skip += static_cast<std::size_t>(got);
    while (!parts.empty() && skip >= parts.front().size()) {
      skip -= parts.front().size();
      parts = parts.subspan(1);
    }
  }
  return check_unchanged();
}

Status OpenFile::check_unchanged() const {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) {
    return unreadable(errno, source_.label_);
  }
  if (identity_of(status) != source_.seen_) {
    return changed("the file changed while it was read", source_.label_);
  }
  return {};
}

}  // namespace assay::gpu_hash
