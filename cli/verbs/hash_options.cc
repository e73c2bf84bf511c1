// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/hash_options.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cli/output.h"

namespace assay::cli {

void add_hash_options(const Command& verb, HashFlags& flags) {
  verb.argument("PATH", flags.path, "directory or file to hash");
  add_device_options(verb, flags.device);
  add_fallback_option(verb, flags.device);
  verb.choice("--hash", flags.hash, {"sha256", "sha384"}, "hash algorithm (default sha256)");
  verb.option("--chunk-size", flags.chunk_size, "BYTES",
              "a power of two from 4096 to 1048576 (default 16384)");
  verb.choice(
      "--objects", flags.objects, {"files", "tensors", "both"},
      "what the result lists: files, the tensors in safetensors and GGUF files, or both (default "
      "both); costs the same");
  verb.option("--whole", flags.whole, "FILE",
              "hash this file of the model as one, though its name ends in .safetensors or .gguf; "
              "may be given again");
  verb.option("--ignore", flags.ignore, "PATTERN",
              "leave out what matches: '*.tmp' at any depth, '/cache' at the top. The root binds "
              "the patterns; may be given again");
  verb.option(
      "--ignore-preset", flags.presets, "NAME",
      "leave out the records of a download tool, huggingface or modelscope: the patterns of "
      "docs/cli.md, whether such files are there or not; may be given again");
  verb.flag("--follow-symlinks", flags.follow_symlinks,
            "follow symbolic links that stay inside PATH; without it they are refused");
}

namespace {

Status add_presets(const std::vector<std::string>& names, std::vector<std::string>& ignore) {
  for (const std::string& name : names) {
    const auto* const preset = std::ranges::find(kIgnorePresets, name, &IgnorePreset::name);
    if (preset == kIgnorePresets.end()) {
      return fail(ErrorCode::kUsage, "A preset is huggingface or modelscope", name);
    }
    for (const std::string_view pattern : preset->patterns) {
      if (!pattern.empty()) {
        ignore.emplace_back(pattern);
      }
    }
  }
  return {};
}

// Records of download tools at the top of the model make another root of each download.
void tell_presets(const Context& context, const HashFlags& flags) {
  for (const IgnorePreset& preset : kIgnorePresets) {
    if (std::ranges::find(flags.presets, preset.name) != flags.presets.end()) {
      continue;
    }
    for (const std::string& pattern : gpu_hash::preset_patterns(flags.path, preset)) {
      if (std::ranges::find(flags.ignore, pattern) == flags.ignore.end()) {
        message(context, "part of the model: " + pattern +
                             ", which a download tool writes anew each time; --ignore-preset " +
                             std::string(preset.name) + " leaves it out");
      }
    }
  }
}

}  // namespace

Result<gpu_hash::ArtifactOptions> artifact_options(const Context& context, const HashFlags& flags) {
  gpu_hash::ArtifactOptions options;
  ASSAY_ASSIGN(options.parameters.hash, hash_algorithm_from(flags.hash));
  if (flags.chunk_size > std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorCode::kUsage, "The chunk size must be a power of two from 4096 to 1048576");
  }
  options.parameters.chunk_size = static_cast<std::uint32_t>(flags.chunk_size);
  options.parameters.follow_symlinks = flags.follow_symlinks;
  std::vector<std::string>& ignore = options.parameters.ignore;
  ignore = flags.ignore;
  for (std::string& pattern : gpu_hash::usual_patterns(flags.path)) {
    if (std::ranges::find(ignore, pattern) == ignore.end()) {
      message(context, "left out, and bound by the root: " + pattern);
      ignore.push_back(std::move(pattern));
    }
  }
  ASSAY_TRY(add_presets(flags.presets, ignore));
  tell_presets(context, flags);
  sort_ignore(ignore);
  ASSAY_TRY(check(options.parameters));
  ASSAY_ASSIGN(options.objects, parse_objects(flags.objects));
  options.whole = flags.whole;
  return options;
}

}  // namespace assay::cli
