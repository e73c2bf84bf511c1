// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/model/gguf_parts.h"

#include <algorithm>
#include <charconv>

#include "schemas/core/artifact.h"

namespace assay::gpu_hash {
namespace {

constexpr std::size_t kDigits = 5;
constexpr std::string_view kOf = "-of-";
constexpr std::string_view kEnd = ".gguf";

// Takes "-" and five digits from the end of `text`.
std::optional<std::uint32_t> take_number(std::string_view& text, std::string_view before) {
  if (text.size() < kDigits + before.size()) {
    return std::nullopt;
  }
  const std::string_view digits = text.substr(text.size() - kDigits);
  std::uint32_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + kDigits, value);
  text.remove_suffix(kDigits);
  if (problem != std::errc() || end != digits.data() + kDigits || !text.ends_with(before)) {
    return std::nullopt;
  }
  text.remove_suffix(before.size());
  return value;
}

// "part 2 of 3"
std::string part_text(std::uint32_t no, std::uint32_t count) {
  return "part " + std::to_string(no + 1) + " of " + std::to_string(count);
}

}  // namespace

std::optional<GgufPartName> gguf_part_name(std::string_view path) {
  if (!path.ends_with(kEnd)) {
    return std::nullopt;
  }
  path.remove_suffix(kEnd.size());
  const auto count = take_number(path, kOf);
  const auto number = count ? take_number(path, "-") : std::nullopt;
  if (!number || *number == 0 || *number > *count) {
    return std::nullopt;
  }
  return GgufPartName{std::string(path), *number - 1, *count};
}

GgufParts::GgufParts(const std::vector<WalkedFile>& files) {
  for (const WalkedFile& file : files) {
    if (is_gguf_path(file.path)) {
      if (const auto parsed = read_gguf(*file.source)) {
        add(file.path, *parsed);
      }
    }
  }
}

void GgufParts::add(const std::string& path, const Gguf& file) {
  const auto name = gguf_part_name(path);
  const bool named = name && name->count > 1;
  if (named) {
    add_to_group(path, *name, file);
  }
  if (!named && file.split) {
    lacks_[path] = "its header says that it is " + part_text(file.split->no, file.split->count) +
                   ", and its name does not";
  } else if (named && !file.split) {
    lacks_[path] = "its name says that it is " + part_text(name->no, name->count) +
                   ", and its header does not";
  } else if (named && (name->no != file.split->no || name->count != file.split->count)) {
    lacks_[path] = "its name says that it is " + part_text(name->no, name->count) +
                   ", and its header that it is " + part_text(file.split->no, file.split->count);
  }
}

void GgufParts::add_to_group(const std::string& path, const GgufPartName& name, const Gguf& file) {
  Group& group = groups_[{name.prefix, name.count}];
  if (group.present.empty()) {
    group.first = path;
  }
  group.present.insert(name.no);
  group.tensors += file.tensors.size();
  if (file.split) {
    group.expected.insert(file.split->tensors);
  }
  // More than an artifact can have are refused later.
  names_ += file.tensors.size();
  if (names_ > kMaxEntries) {
    return;
  }
  for (const Tensor& tensor : file.tensors) {
    if (!group.names.insert(tensor.name).second) {
      group.doubled.add(tensor.name);
    }
  }
}

std::string GgufParts::lack_of(const std::string& path) const {
  std::string lack;
  if (const auto own = lacks_.find(path); own != lacks_.end()) {
    lack = own->second;
  }
  const auto name = gguf_part_name(path);
  const auto found = name ? groups_.find({name->prefix, name->count}) : groups_.end();
  if (found == groups_.end() || found->second.first != path) {
    return lack;
  }
  const Group& group = found->second;
  NameList missing;
  const std::size_t all = name->count - group.present.size();
  for (std::uint32_t no = 0; missing.size() < std::min(all, NameList::kListed); ++no) {
    if (!group.present.contains(no)) {
      missing.add(std::to_string(no + 1));
    }
  }
  missing.add_unlisted(all - missing.size());
  missing.tell("parts of " + std::to_string(name->count) + " are missing or ignored", lack);
  group.doubled.tell("tensors stand in two parts", lack);
  const bool whole = group.present.size() == name->count;
  if (group.expected.size() > 1 ||
      (whole && !group.expected.empty() && *group.expected.begin() != group.tensors)) {
    lack += lack.empty() ? "" : "; ";
    lack += "the parts hold " + std::to_string(group.tensors) +
            " tensors, and the headers say another number";
  }
  return lack;
}

}  // namespace assay::gpu_hash
