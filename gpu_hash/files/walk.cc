// SPDX-License-Identifier: Apache-2.0
// Walks a directory by descriptors, so that what is replaced meanwhile leads nowhere else.
#include "gpu_hash/walk.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <span>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <dirent.h>

#include "gpu_hash/files/hub_cache.h"
#include "gpu_hash/files/ignore.h"
#include "gpu_hash/files/links.h"
#include "gpu_hash/files/walker.h"
#include "schemas/posix/files.h"

namespace assay::gpu_hash {
namespace {

namespace fs = std::filesystem;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using DirectoryStream = std::unique_ptr<DIR, CloseDirectory>;

std::unexpected<Error> unreadable(int error, const std::string& path) {
  std::string why = std::generic_category().message(error);
  if (error == EACCES && path == "lost+found") {
    why +=
        "; the file system keeps this directory for itself: leave it out with --ignore /lost+found";
  }
  return fail(ErrorCode::kFileUnreadable, std::move(why), path);
}

std::unexpected<Error> refused_link(const char* why, const std::string& path) {
  return fail(ErrorCode::kInvalidPath, why, path);
}

const char* type_name(mode_t mode) {
  if (S_ISFIFO(mode)) {
    return "a FIFO cannot be hashed; ignore it or remove it";
  }
  if (S_ISSOCK(mode)) {
    return "a socket cannot be hashed; ignore it or remove it";
  }
  return "a device cannot be hashed; ignore it or remove it";
}

std::unexpected<Error> unfollowed_link(const std::string& path) {
  std::string why =
      "a symbolic link: --follow-symlinks follows those that stay inside the directory, --ignore "
      "leaves it out";
  if (path.starts_with("snapshots/")) {
    why += "; of a Hugging Face cache hash one revision, models--.../snapshots/REVISION";
  }
  return fail(ErrorCode::kUnsupportedFileType, std::move(why), path);
}

// `path` relative to `top` (both absolute and without links); nothing when it is not below it.
std::optional<std::string> below(const fs::path& top, const fs::path& path) {
  std::string relative = path.lexically_relative(top).string();
  if (relative.empty() || relative == ".." || relative.starts_with("../")) {
    return std::nullopt;
  }
  return relative;
}

class Walker {
 public:
  Walker(std::shared_ptr<const Directory> base, IgnoreRules rules, Links follow)
      : base_(std::move(base)), rules_(std::move(rules)), follow_(follow) {}

  // Lists the directory at `top` below the base; empty: the base itself.
  Result<std::vector<WalkedFile>> run(const std::string& top) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY;
    Descriptor fd = top.empty() ? Descriptor(::openat(base_->fd(), ".", kFlags | O_CLOEXEC))
                                : open_below(base_->fd(), top, kFlags);
    if (!fd) {
      return unreadable(errno, "");
    }
    ASSAY_TRY(enter(std::move(fd), "", top.empty() ? "" : top + "/"));
    std::sort(files_.begin(), files_.end(),
              [](const WalkedFile& a, const WalkedFile& b) { return a.path < b.path; });
    return std::move(files_);
  }

 private:
  // Device and inode of a directory.
  using Place = std::pair<dev_t, ino_t>;

  // Lists the directory `fd`. `prefix` is its path in the artifact, `real` its path below the base
  // after links are resolved; both are empty or end in '/'.
  Status enter(Descriptor fd, const std::string& prefix, const std::string& real) {
    struct stat status{};
    if (::fstat(fd.get(), &status) != 0) {
      return unreadable(errno, prefix);
    }
    const Place place{status.st_dev, status.st_ino};
    if (std::find(open_.begin(), open_.end(), place) != open_.end()) {
      return refused_link("a symbolic link leads to a directory above it", prefix);
    }
    if (open_.size() >= kMaxWalkDepth) {
      return fail(ErrorCode::kLimitExceeded, "directories are nested too deep", prefix);
    }
    const DirectoryStream stream(::fdopendir(fd.get()));
    if (stream == nullptr) {
      return unreadable(errno, prefix);
    }
    (void)fd.release();  // closed with the stream
    open_.push_back(place);
    ASSAY_TRY(list(stream.get(), prefix, real));
    open_.pop_back();
    return {};
  }

  Status list(DIR* stream, const std::string& prefix, const std::string& real) {
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream);
      if (entry == nullptr) {
        return errno == 0 ? Status{} : unreadable(errno, prefix);
      }
      const std::string name(entry->d_name);
      if (name != "." && name != "..") {
        ASSAY_TRY(visit(::dirfd(stream), name, prefix + name, real + name));
      }
    }
  }

  Status visit(int directory, const std::string& name, const std::string& path,
               const std::string& real) {
    ASSAY_TRY(check_path(path));
    if (rules_.match(path)) {
      return {};
    }
    struct stat status{};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return unreadable(errno, path);
    }
    if (S_ISLNK(status.st_mode)) {
      return follow_ == Links::kRefused ? unfollowed_link(path) : visit_link(path, real);
    }
    if (S_ISREG(status.st_mode)) {
      return add(path, real, status);
    }
    if (!S_ISDIR(status.st_mode)) {
      return fail(ErrorCode::kUnsupportedFileType, type_name(status.st_mode), path);
    }
    Descriptor fd(
        ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    return fd ? enter(std::move(fd), path + "/", real + "/") : unreadable(errno, path);
  }

  Status visit_link(const std::string& path, const std::string& real) {
    ASSAY_ASSIGN(LinkTarget target, follow_below(base_->fd(), real, follow_, path));
    const mode_t mode = target.status.st_mode;
    if (target.path.empty()) {
      return refused_link("a symbolic link leads to a directory above it", path);
    }
    if (!S_ISREG(mode) && (!S_ISDIR(mode) || follow_ == Links::kHub)) {
      return fail(ErrorCode::kUnsupportedFileType,
                  S_ISDIR(mode) ? "a blob that is a directory" : type_name(mode), path);
    }
    const std::size_t above = links_.size();
    std::ranges::move(target.links, std::back_inserter(links_));
    if (S_ISREG(mode)) {
      ASSAY_TRY(add(path, target.path, target.status));
    } else {
      Descriptor fd(::openat(target.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      ASSAY_TRY(fd ? enter(std::move(fd), path + "/", target.path + "/") : unreadable(errno, path));
    }
    links_.resize(above);
    return {};
  }

  Status add(const std::string& path, const std::string& real, const struct stat& status) {
    if (files_.size() == kMaxEntries) {
      return fail(ErrorCode::kLimitExceeded, "an artifact has at most 1048576 files", path);
    }
    files_.push_back(
        {path, std::make_shared<const SourceFile>(base_, real, path, identity_of(status), links_)});
    return {};
  }

  std::shared_ptr<const Directory> base_;
  IgnoreRules rules_;
  Links follow_;
  std::vector<Place> open_;
  std::vector<SeenLink> links_;  // that led to what is visited
  std::vector<WalkedFile> files_;
};

Result<std::vector<WalkedFile>> single_file(const fs::path& path, const fs::path& real) {
  const std::string name = path.filename().string();
  ASSAY_TRY(check_path(name));
  ASSAY_ASSIGN(auto base, Directory::open(real.parent_path()));
  ASSAY_ASSIGN(auto source, SourceFile::find(std::move(base), real.filename().string(), name));
  std::vector<WalkedFile> files;
  files.push_back({name, std::move(source)});
  return files;
}

// Those of `patterns`, each empty or anchored and without wildcards, that name something below
// `path`.
std::vector<std::string> present(const fs::path& path, std::span<const std::string_view> patterns) {
  std::vector<std::string> found;
  std::error_code error;
  for (const std::string_view pattern : patterns) {
    if (!pattern.empty() && fs::is_directory(path, error) &&
        fs::exists(fs::symlink_status(path / pattern.substr(1), error))) {
      found.emplace_back(pattern);
    }
  }
  return found;
}

}  // namespace

Result<std::vector<WalkedFile>> walk_below(std::shared_ptr<const Directory> base,
                                           const std::string& top, IgnoreRules rules, Links links) {
  return Walker(std::move(base), std::move(rules), links).run(top);
}

WalkOptions rules_of(const TreeParameters& parameters) {
  return {parameters.ignore, parameters.follow_symlinks, true};
}

std::vector<std::string> usual_patterns(const fs::path& path) {
  return present(path, kUsualIgnore);
}

std::vector<std::string> preset_patterns(const fs::path& path, const IgnorePreset& preset) {
  return present(path, preset.patterns);
}

Result<std::vector<WalkedFile>> walk(const fs::path& path, const WalkOptions& options) {
  ASSAY_ASSIGN(IgnoreRules rules, IgnoreRules::parse(options.ignore));
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error) {
    return fail(ErrorCode::kFileUnreadable, error.message(), path.string());
  }
  const bool directory = fs::is_directory(real, error);
  if (!directory) {
    return single_file(path, real);
  }
  const bool may_be_snapshot = options.snapshots && !options.follow_symlinks;
  if (auto snapshot = may_be_snapshot ? hub_snapshot(real) : std::nullopt) {
    return walk_below(std::move(snapshot->cache), snapshot->path, std::move(rules), Links::kHub);
  }
  ASSAY_ASSIGN(auto base, Directory::open(real));
  return walk_below(std::move(base), "", std::move(rules),
                    options.follow_symlinks ? Links::kBelow : Links::kRefused);
}

Result<std::vector<WalkedFile>> find_model(const fs::path& path, const Artifact& artifact,
                                           bool snapshots) {
  WalkOptions rules = rules_of(artifact.parameters);
  rules.snapshots = snapshots;
  ASSAY_ASSIGN(std::vector<WalkedFile> files, walk(path, rules));
  std::error_code error;
  if (files.size() != 1 || artifact.entries.empty() || fs::is_directory(path, error)) {
    return files;
  }
  const std::string& name = file_of(artifact.entries.front());
  if (std::ranges::all_of(artifact.entries,
                          [&](const Entry& entry) { return file_of(entry) == name; })) {
    files.front().path = name;
  }
  return files;
}

Result<std::optional<std::string>> output_pattern(const fs::path& directory,
                                                  const fs::path& output) {
  std::error_code error;
  const fs::path top = fs::canonical(directory, error);
  if (error) {
    return fail(ErrorCode::kFileUnreadable, error.message(), directory.string());
  }
  const fs::path absolute = fs::absolute(output, error);
  const fs::path parent = error ? fs::path() : fs::canonical(absolute.parent_path(), error);
  if (error) {
    return fail(ErrorCode::kFileUnreadable, error.message(), output.string());
  }
  const std::optional<std::string> relative = below(top, parent / absolute.filename());
  if (!relative || !fs::is_directory(top, error)) {
    return std::nullopt;
  }
  ASSAY_TRY(check_path(*relative));
  if (relative->find_first_of("*?") != std::string::npos) {
    return fail(ErrorCode::kInvalidParameter,
                "an output inside the artifact must not have '*' or '?' in its path", *relative);
  }
  return "/" + *relative;
}

}  // namespace assay::gpu_hash
