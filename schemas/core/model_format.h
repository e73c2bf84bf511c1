// SPDX-License-Identifier: Apache-2.0
// Formats of a model's files, as their names and entries show them. docs/policies.md says what each
// one is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/core/error.h"

namespace assay {

// In the order of their names.
enum class ModelFormat : std::uint8_t {
  kExecutable,  // a pickle, or what may hold one: to load it can run code in it
  kGguf,
  kOnnx,
  kOther,
  kSafetensors,
};
[[nodiscard]] std::string_view name(ModelFormat format);
// Parses a name. Errors: invalid-parameter.
[[nodiscard]] Result<ModelFormat> model_format_from(std::string_view name);

// Returns the format that a file has by its path. Letters of either case count. A file that may be
// a pickle by its name is kExecutable.
[[nodiscard]] ModelFormat format_of(std::string_view path);

// Returns the format of a file of an artifact: kSafetensors or kGguf when its entry has such a cut,
// and kExecutable when only its name says so.
[[nodiscard]] ModelFormat format_of(const FileEntry& file);

// Returns the formats of an artifact's files, sorted, each once. Returns nullopt when the entries
// are of tensors alone: they do not say which other files there are.
[[nodiscard]] std::optional<std::vector<ModelFormat>> formats_of(const std::vector<Entry>& entries);

}  // namespace assay
