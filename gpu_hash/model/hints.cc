// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/model/hints.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "gpu_hash/model/missing_files.h"
#include "schemas/core/artifact.h"

namespace assay::gpu_hash {
namespace {

using Kind = Difference::Kind;

// Marks that NFD sets apart from the character before them: accents, voicing of kana, the vowels
// and finals of Hangul.
bool is_mark(char32_t c) {
  return (c >= 0x0300 && c <= 0x036F) || c == 0x3099 || c == 0x309A || (c >= 0x1161 && c <= 0x11FF);
}

// The path with '?' for each character that is not ASCII, together with its marks, and for each
// ASCII character with marks. Paths that normalise to the same text have the same outline; other
// paths may have it, too.
std::string outline_of(std::string_view path) {
  std::string outline;
  for (std::size_t i = 0; i < path.size();) {
    const auto first = static_cast<unsigned char>(path[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t c = first & (length == 1 ? 0x7FU : 0xFFU >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
      c = (c << 6U) | (static_cast<unsigned char>(path[i + k]) & 0x3FU);
    }
    i += length;
    if (!is_mark(c)) {
      outline.push_back(length == 1 ? path[i - 1] : '?');
    } else if (!outline.empty() && outline.back() != '/') {
      outline.back() = '?';
    }
  }
  return outline;
}

bool is_whole_file(const Difference& difference, Kind kind) {
  return difference.kind == kind && !difference.tensor;
}

void add(Difference& difference, std::string_view hint) {
  difference.detail.append("; ").append(hint);
}

void compare_names(std::vector<Difference>& differences) {
  std::map<std::string, const Difference*> extras;
  for (const Difference& difference : differences) {
    if (is_whole_file(difference, Kind::kExtra)) {
      extras.emplace(outline_of(difference.file), &difference);
    }
  }
  for (Difference& difference : differences) {
    const auto found = is_whole_file(difference, Kind::kMissing)
                           ? extras.find(outline_of(difference.file))
                           : extras.end();
    if (found != extras.end()) {
      add(difference,
          "a file is there whose name may look the same and has other bytes (NFC and NFD of "
          "Unicode): give it the name that was signed");
    }
  }
}

// `files` are ordered by path.
bool is_pointer(const std::vector<WalkedFile>& files, const std::string& path) {
  const auto found = std::ranges::lower_bound(files, path, {}, &WalkedFile::path);
  return found != files.end() && found->path == path &&
         is_lfs_pointer(*found->source).value_or(false);
}

}  // namespace

void add_hints(const std::vector<WalkedFile>& files, std::vector<Difference>& differences) {
  for (Difference& difference : differences) {
    if (const IgnorePreset* preset = preset_of(difference.file)) {
      add(difference, "download tools keep records there; sign the model with --ignore-preset " +
                          std::string(preset->name));
    } else if (is_whole_file(difference, Kind::kChanged) && is_pointer(files, difference.file)) {
      add(difference, kLfsPointer);
    }
  }
  compare_names(differences);
}

}  // namespace assay::gpu_hash
