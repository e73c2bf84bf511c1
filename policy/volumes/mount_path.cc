// SPDX-License-Identifier: Apache-2.0
#include "policy/volumes/mount_path.h"

#include <algorithm>
#include <array>
#include <utility>

#include "policy/glob.h"

namespace assay::policy {
namespace {

constexpr std::size_t kMaxPath = 4096;  // of Linux; nothing can be mounted at a longer one

// Links that the images of the common distributions have. No target starts with another link.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kLinks = {{
    {"/var/run", "/run"},
    {"/var/lock", "/run/lock"},
    {"/bin", "/usr/bin"},
    {"/sbin", "/usr/sbin"},
    {"/lib", "/usr/lib"},
    {"/lib32", "/usr/lib32"},
    {"/lib64", "/usr/lib64"},
    {"/libx32", "/usr/libx32"},
    {"/usr/tmp", "/var/tmp"},
    {"/var/mail", "/var/spool/mail"},
    {"/var/spool/lock", "/run/lock"},
    {"/dev/fd", "/proc/self/fd"},
}};
// Links of /dev to what a process has open.
constexpr std::array<std::string_view, 3> kStreams = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};

// What every container has without asking.
constexpr std::array<std::string_view, 6> kRuntimePlaces = {
    "/dev", "/proc", "/sys", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"};

// "/a/b" is in "", in "/a" and in "/a/b".
bool lies_in(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

std::string with_links(std::string path) {
  for (const auto& [link, target] : kLinks) {
    if (lies_in(path, link)) {
      return std::string(target) + path.substr(link.size());
    }
  }
  return path;
}

// Below a directory of /proc are links to the whole file system: /proc/self/root.
bool depends_on_process(std::string_view path) {
  constexpr std::string_view kProcesses = "/proc/";
  return (path.starts_with(kProcesses) &&
          path.find('/', kProcesses.size()) != std::string_view::npos) ||
         path == "/proc/self" || path == "/proc/thread-self" ||
         std::any_of(kStreams.begin(), kStreams.end(),
                     [&](std::string_view stream) { return lies_in(path, stream); });
}

}  // namespace

std::optional<std::string> clean_path(std::string_view path) {
  std::string clean;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part == ".." ||
        part.find('\\') != std::string_view::npos) {  // a backslash separates on Windows
      return std::nullopt;
    }
    if (!part.empty() && part != ".") {
      clean.append("/").append(part);
    }
  }
  return clean;
}

std::optional<std::string> real_path(std::string_view path) {
  std::optional<std::string> clean =
      path.size() <= kMaxPath ? clean_path(path) : std::optional<std::string>();
  if (!clean) {
    return std::nullopt;
  }
  std::string real = with_links(*std::move(clean));
  return depends_on_process(real) ? std::nullopt : std::optional(std::move(real));
}

bool meets_runtime_mounts(std::string_view path) {
  return std::any_of(kRuntimePlaces.begin(), kRuntimePlaces.end(), [&](std::string_view place) {
    return lies_in(path, place) || lies_in(place, path);
  });
}

MountPaths::MountPaths(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    patterns_.push_back(with_links(pattern));
  }
}

bool MountPaths::admit(const std::string& path) const { return any_glob_matches(patterns_, path); }

bool MountPaths::reserve(const std::string& path) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [&](std::string_view pattern) {
    const std::string_view before = pattern.substr(0, pattern.find('*'));
    return (before == pattern ? lies_in(path, pattern) : path.starts_with(before)) ||
           lies_in(before, path);
  });
}

}  // namespace assay::policy
