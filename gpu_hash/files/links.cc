// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/files/links.h"

#include <array>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "gpu_hash/files/hub_cache.h"
#include "gpu_hash/walk.h"

namespace assay::gpu_hash {
namespace {

constexpr std::size_t kMaxLinks = 40;  // on the way to one target, as many as the kernel follows

class Follower {
 public:
  Follower(int base, Links links, const std::string& label)
      : base_(base), allowed_(links), label_(label) {}

  Result<LinkTarget> run(std::string_view path) {
    push(path);
    while (!parts_.empty()) {
      const std::string part = std::exchange(parts_.back(), {});
      parts_.pop_back();
      ASSAY_TRY(step(part));
    }
    LinkTarget target{{}, {}, {}, std::move(links_)};
    if (::fstat(at(), &target.status) != 0) {
      return unreadable(errno);
    }
    target.path = way();
    if (!places_.empty()) {
      target.fd = std::move(places_.back().fd);
    }
    return target;
  }

 private:
  struct Place {
    std::string name;
    Descriptor fd;
    bool directory;
  };

  [[nodiscard]] int at() const { return places_.empty() ? base_ : places_.back().fd.get(); }

  // The directory that was reached, below the base.
  [[nodiscard]] std::string way() const {
    std::string path;
    for (const Place& place : places_) {
      path += (path.empty() ? "" : "/") + place.name;
    }
    return path;
  }

  [[nodiscard]] std::unexpected<Error> refuse(std::string why) const {
    return fail(ErrorCode::kInvalidPath, "a symbolic link " + std::move(why), label_);
  }
  [[nodiscard]] std::unexpected<Error> unreadable(int error) const {
    return fail(ErrorCode::kFileUnreadable, std::generic_category().message(error), label_);
  }

  // The parts of `path` are next.
  void push(std::string_view path) {
    for (;;) {
      const std::size_t slash = path.rfind('/');
      if (slash == std::string_view::npos) {
        parts_.emplace_back(path);
        return;
      }
      parts_.emplace_back(path.substr(slash + 1));
      path = path.substr(0, slash);
    }
  }

  Status step(const std::string& part) {
    if (!places_.empty() && !places_.back().directory) {
      return refuse("leads nowhere");  // a part of a file
    }
    if (part.empty() || part == ".") {
      return {};
    }
    if (part != "..") {
      return enter(part);
    }
    if (places_.empty()) {
      return refuse("leads out of the directory" + hint_);
    }
    places_.pop_back();
    return {};
  }

  Status enter(const std::string& part) {
    Descriptor fd(::openat(at(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat status{};
    if (!fd || ::fstat(fd.get(), &status) != 0) {
      const int error = errno;
      return error == ENOENT ? refuse("leads nowhere") : unreadable(error);
    }
    if (S_ISLNK(status.st_mode)) {
      const std::string above = way();
      links_.push_back({above.empty() ? part : above + "/" + part, identity_of(status)});
      return follow(fd.get(), above);
    }
    if (places_.size() > kMaxWalkDepth) {
      return fail(ErrorCode::kLimitExceeded, "directories are nested too deep", label_);
    }
    places_.push_back({part, std::move(fd), S_ISDIR(status.st_mode)});
    return {};
  }

  // `link` lies in the directory `above`.
  Status follow(int link, std::string_view above) {
    std::array<char, PATH_MAX> text{};
    const ssize_t size = ::readlinkat(link, "", text.data(), text.size());
    if (size < 0) {
      return unreadable(errno);
    }
    const std::string_view target(text.data(), static_cast<std::size_t>(size));
    if (links_.size() > kMaxLinks) {
      return refuse("leads in a circle");
    }
    if (allowed_ == Links::kHub && !is_hub_link(above, target)) {
      return refuse(
          "is none that leads from a snapshot of a Hugging Face cache to a blob of the same model; "
          "leave it out with --ignore, or download with hf download --local-dir");
    }
    if (target.starts_with('/')) {
      return refuse("is absolute: it leads elsewhere where the directory is mounted elsewhere");
    }
    if (target.find("blobs/") != std::string_view::npos) {
      hint_ =
          "; if this is a Hugging Face cache, hash models--.../snapshots/REVISION without "
          "--follow-symlinks, or download with hf download --local-dir, or with "
          "HF_HUB_DISABLE_SHARED_BLOBS=1";
    }
    push(target);
    return {};
  }

  int base_;
  Links allowed_;
  const std::string& label_;
  std::vector<std::string> parts_;  // still to go, the next one last
  std::vector<Place> places_;       // the way from the directory
  std::vector<SeenLink> links_;
  std::string hint_;
};

}  // namespace

Result<LinkTarget> follow_below(int base, std::string_view path, Links links,
                                const std::string& label) {
  return Follower(base, links, label).run(path);
}

}  // namespace assay::gpu_hash
