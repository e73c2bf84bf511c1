// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/files/ignore.h"

#include <span>

#include "schemas/core/artifact.h"
#include "schemas/core/bytes.h"

namespace assay::gpu_hash {
namespace {

using Part = std::u32string;
using Parts = std::vector<Part>;

const Part kAnyParts = U"**";

// Code points of well-formed UTF-8.
Part decode(std::string_view text) {
  Part out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out.push_back(byte);
    } else if (byte >= 0xC0) {
      out.push_back(byte & (byte >= 0xF0 ? 0x07U : byte >= 0xE0 ? 0x0FU : 0x1FU));
    } else {
      out.back() = (out.back() << 6) | (byte & 0x3FU);
    }
  }
  return out;
}

Parts split(std::string_view text) {
  Parts parts;
  for (;;) {
    const std::size_t slash = text.find('/');
    parts.push_back(decode(text.substr(0, slash)));
    if (slash == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(slash + 1);
  }
}

// Only the last '*' ever needs to be tried again, so the time is bounded by the product of lengths.
bool match_part(const Part& pattern, const Part& name) {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = Part::npos;
  std::size_t star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == U'*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == U'?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != Part::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == U'*') {
    ++p;
  }
  return p == pattern.size();
}

// reachable[i]: the pattern's parts read so far match the first i parts of the path.
bool match_parts(const Parts& pattern, const Parts& path) {
  std::vector<bool> reachable(path.size() + 1, false);
  reachable[0] = true;
  for (const Part& part : pattern) {
    std::vector<bool> next(path.size() + 1, false);
    for (std::size_t i = 0; i <= path.size(); ++i) {
      if (part == kAnyParts) {
        next[i] = reachable[i] || (i > 0 && next[i - 1]);
      } else {
        next[i] = i > 0 && reachable[i - 1] && match_part(part, path[i - 1]);
      }
    }
    reachable = std::move(next);
  }
  return reachable[path.size()];
}

}  // namespace

Result<IgnoreRules> IgnoreRules::parse(const std::vector<std::string>& patterns) {
  IgnoreRules rules;
  for (const std::string& pattern : patterns) {
    ASSAY_TRY(check_ignore_pattern(pattern));
    std::string_view body = pattern;
    if (body.starts_with('/')) {
      body.remove_prefix(1);
    }
    Parts parts = split(body);
    if (pattern.find('/') == std::string::npos) {
      parts.insert(parts.begin(), kAnyParts);
    }
    rules.rules_.push_back(std::move(parts));
  }
  return rules;
}

bool IgnoreRules::match(std::string_view path) const {
  if (rules_.empty()) {
    return false;
  }
  const Parts parts = split(path);
  for (const Parts& rule : rules_) {
    if (match_parts(rule, parts)) {
      return true;
    }
  }
  return false;
}

}  // namespace assay::gpu_hash
