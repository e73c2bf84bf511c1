// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/manifest_part.h"

#include <charconv>
#include <utility>
#include <vector>

#include "cli/verbs/device_options.h"

namespace assay::cli {

namespace {

bool is_named(const PartFlags& flags, const Entry& entry) {
  const auto* tensor = std::get_if<TensorEntry>(&entry);
  if (flags.tensor.empty() || tensor == nullptr) {
    return flags.tensor.empty() && tensor == nullptr && label_of(entry) == flags.file;
  }
  return flags.file.empty() ? label_of(entry) == flags.tensor || tensor->name == flags.tensor
                            : tensor->file == flags.file && tensor->name == flags.tensor;
}

// Entries that `flags` may mean; a tensor without its file may be in several.
std::vector<std::size_t> entries_named(const PartFlags& flags, const Artifact& artifact) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < artifact.entries.size(); ++i) {
    if (is_named(flags, artifact.entries[i])) {
      found.push_back(i);
    }
  }
  return found;
}

// "BEGIN-END", END not included.
Result<ByteRange> parse_range(const std::string& text) {
  ByteRange range{};
  const char* const end = text.data() + text.size();
  const auto begin = std::from_chars(text.data(), end, range.begin);
  if (begin.ec == std::errc() && begin.ptr != end && *begin.ptr == '-') {
    const auto last = std::from_chars(begin.ptr + 1, end, range.end);
    if (last.ec == std::errc() && last.ptr == end && range.begin < range.end) {
      return range;
    }
  }
  return fail(ErrorCode::kUsage, "A range is written as BEGIN-END, in bytes, END not included",
              text);
}

}  // namespace

void add_part_options(const Command& verb, PartFlags& flags) {
  verb.option("--file", flags.file, "PATH",
              "check this file alone; with --tensor: the file that holds it");
  verb.option("--tensor", flags.tensor, "NAME", "check this tensor alone; NAME or FILE#NAME");
  verb.option(
      "--range", flags.range, "BEGIN-END",
      "with --file or --tensor: these bytes of it, END not included; needs --outline to read "
      "less than all of it");
}

Result<gpu_hash::PartOptions> part_options(const PartFlags& flags, const Artifact& artifact) {
  if (flags.file.empty() && flags.tensor.empty()) {
    return fail(ErrorCode::kUsage, "Give --file, --tensor or both");
  }
  const std::string& name = flags.tensor.empty() ? flags.file : flags.tensor;
  const std::vector<std::size_t> found = entries_named(flags, artifact);
  if (found.empty()) {
    return fail(ErrorCode::kNotFound,
                "The manifest has no such entry; 'assay manifest show --list' has them", name);
  }
  if (found.size() > 1) {
    return fail(ErrorCode::kUsage,
                "Several tensors are written like this; name the file, too, with --file", name);
  }
  gpu_hash::PartOptions options;
  options.entry = found.front();
  if (!flags.range.empty()) {
    ASSAY_ASSIGN(options.range, parse_range(flags.range));
  }
  return options;
}

Json part_json(const Entry& entry, const gpu_hash::VerifiedPart& verified) {
  return {
      {"entry", to_json(entry)}, {"begin", verified.checked.begin}, {"end", verified.checked.end}};
}

std::string part_label(const Entry& entry, const gpu_hash::VerifiedPart& verified) {
  return "bytes [" + std::to_string(verified.checked.begin) + ", " +
         std::to_string(verified.checked.end) + ") of " + label_of(entry);
}

}  // namespace assay::cli
