// SPDX-License-Identifier: Apache-2.0
// GGUF files that are parts of one model, held against each other. Internal to this folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gpu_hash/gguf.h"
#include "gpu_hash/model/name_list.h"
#include "gpu_hash/walk.h"

namespace assay::gpu_hash {

// The place of a part by the name of its file, PREFIX-00002-of-00003.gguf.
struct GgufPartName {
  std::string prefix;   // with the folders
  std::uint32_t no;     // from 0
  std::uint32_t count;  // parts
};
// Returns nothing for a path that is not of this form, or that names a part behind the last one.
[[nodiscard]] std::optional<GgufPartName> gguf_part_name(std::string_view path);

class GgufParts {
 public:
  // Reads the headers of all GGUF files among `files`. A file that is no valid GGUF file is not
  // looked at here.
  explicit GgufParts(const std::vector<WalkedFile>& files);

  // Returns why the file at `path` does not fit the other parts, for people; empty when it does.
  // Parts may be missing, the name may differ from the header, and tensors may stand in two parts.
  // What concerns all parts is said of the first one that is there.
  [[nodiscard]] std::string lack_of(const std::string& path) const;

 private:
  struct Group {
    std::string first;  // path
    std::set<std::uint32_t> present;
    std::uint64_t tensors = 0;  // in the parts that are present
    std::set<std::uint64_t> expected;
    std::unordered_set<std::string> names;
    NameList doubled;
  };

  void add(const std::string& path, const Gguf& file);
  void add_to_group(const std::string& path, const GgufPartName& name, const Gguf& file);

  std::map<std::pair<std::string, std::uint32_t>, Group> groups_;  // by prefix and count
  std::map<std::string, std::string> lacks_;                       // of files alone, by path
  std::size_t names_ = 0;                                          // in all groups
};

}  // namespace assay::gpu_hash
