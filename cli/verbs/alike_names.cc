// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/alike_names.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include <utf8proc.h>

namespace assay::cli {
namespace {

struct Free {
  void operator()(utf8proc_uint8_t* text) const {
    std::free(text);  // NOLINT(cppcoreguidelines-no-malloc): the library allocates so
  }
};

// One text for all names that a file system may take for `name`; `name` itself when the library
// has no memory.
std::string folded(std::string_view name) {
  if (std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
    std::string lower(name);
    for (char& c : lower) {
      c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    return lower;
  }
  utf8proc_uint8_t* text = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(name.data()),
      static_cast<utf8proc_ssize_t>(name.size()), &text,
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD));
  const std::unique_ptr<utf8proc_uint8_t, Free> owned(text);
  return size < 0
             ? std::string(name)
             : std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
}

// The length of what two paths have in common, in whole directories.
std::size_t common_directories(std::string_view a, std::string_view b) {
  const auto [end, other] = std::ranges::mismatch(a, b);
  const std::size_t slash = a.substr(0, static_cast<std::size_t>(end - a.begin())).rfind('/');
  return slash == std::string_view::npos ? 0 : slash + 1;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> alike_names(
    const std::vector<std::string_view>& paths) {
  std::vector<std::pair<std::string, std::string>> found;
  std::unordered_map<std::string, std::string_view> seen;  // by directory and folded name
  seen.reserve(paths.size());
  std::string_view before;
  for (const std::string_view path : paths) {
    // Directories that this path shares with the one before were looked at there.
    for (std::size_t begin = common_directories(path, before); begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::string_view whole = path.substr(0, end);
      std::string key(path.substr(0, begin));
      key += folded(path.substr(begin, end - begin));
      if (const auto [at, fresh] = seen.emplace(std::move(key), whole); !fresh) {
        found.emplace_back(at->second, whole);
      }
      begin = end + 1;
    }
    before = path;
  }
  return found;
}

}  // namespace assay::cli
