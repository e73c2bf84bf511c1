// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/model_format.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "schemas/core/names.h"

namespace assay {
namespace {

constexpr Names<ModelFormat, 5> kFormats = {{{{ModelFormat::kExecutable, "executable-format"},
                                              {ModelFormat::kGguf, "gguf"},
                                              {ModelFormat::kOnnx, "onnx"},
                                              {ModelFormat::kOther, "other"},
                                              {ModelFormat::kSafetensors, "safetensors"}}}};

constexpr std::array<std::pair<std::string_view, ModelFormat>, 24> kEndings = {{
    {"safetensors", ModelFormat::kSafetensors},
    {"gguf", ModelFormat::kGguf},
    {"onnx", ModelFormat::kOnnx},
    // Files that torch.load, pickle.load and joblib.load take, and archives of them.
    {"bin", ModelFormat::kExecutable},
    {"ckpt", ModelFormat::kExecutable},
    {"cpkl", ModelFormat::kExecutable},
    {"dill", ModelFormat::kExecutable},
    {"distcp", ModelFormat::kExecutable},
    {"joblib", ModelFormat::kExecutable},
    {"mar", ModelFormat::kExecutable},
    {"nemo", ModelFormat::kExecutable},
    {"p", ModelFormat::kExecutable},
    {"pdparams", ModelFormat::kExecutable},
    {"pckl", ModelFormat::kExecutable},
    {"pickle", ModelFormat::kExecutable},
    {"pk", ModelFormat::kExecutable},
    {"pkl", ModelFormat::kExecutable},
    {"pt", ModelFormat::kExecutable},
    {"pt2", ModelFormat::kExecutable},
    {"pth", ModelFormat::kExecutable},
    {"ptl", ModelFormat::kExecutable},
    {"pyt", ModelFormat::kExecutable},
    {"sav", ModelFormat::kExecutable},
    {"th", ModelFormat::kExecutable},
}};

// Endings of archives, compression and copies, behind which another ending tells what is inside.
constexpr std::array<std::string_view, 21> kWrappings = {
    "7z",  "bak", "br",   "bz2", "copy", "gz",  "lz4", "lzma", "old", "orig", "part",
    "rar", "tar", "tbz2", "tgz", "tmp",  "txz", "xz",  "z",    "zip", "zst"};
// The list of a model's files: a loader reads what it names as its own name says.
constexpr std::string_view kIndex = ".index.json";

bool wraps(std::string_view ending) {
  return std::ranges::find(kWrappings, ending) != kWrappings.end() ||
         std::ranges::all_of(ending, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string_view name(ModelFormat format) { return kFormats.of(format); }

Result<ModelFormat> model_format_from(std::string_view name) {
  return kFormats.parse(name, "a format is executable-format, gguf, onnx, other or safetensors");
}

ModelFormat format_of(std::string_view path) {
  std::string text(path.substr(path.rfind('/') + 1));
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  std::string_view file = text;
  bool whole = true;  // nothing was cut off
  if (file.ends_with(kIndex)) {
    file.remove_suffix(kIndex.size());
    whole = false;
  }
  for (std::size_t dot = file.rfind('.'); dot != std::string_view::npos; dot = file.rfind('.')) {
    const std::string_view ending = file.substr(dot + 1);
    const auto* const found =
        std::ranges::find(kEndings, ending, [](const auto& row) { return row.first; });
    if (found != kEndings.end() && (whole || found->second == ModelFormat::kExecutable)) {
      return found->second;
    }
    if (!wraps(ending)) {
      return ModelFormat::kOther;
    }
    file.remove_suffix(file.size() - dot);
    whole = false;
  }
  return ModelFormat::kOther;
}

// A signed cut says what the file is. A name alone that ends in .safetensors or .gguf says nothing:
// its maker had the file hashed whole, whatever is in it, and loaders fall back to pickles.
ModelFormat format_of(const FileEntry& file) {
  const ModelFormat by_name = format_of(std::string_view(file.path));
  if (by_name == ModelFormat::kExecutable) {
    return by_name;
  }
  if (file.cut) {
    return file.cut->format == CutFormat::kGguf ? ModelFormat::kGguf : ModelFormat::kSafetensors;
  }
  return by_name == ModelFormat::kSafetensors || by_name == ModelFormat::kGguf
             ? ModelFormat::kExecutable
             : by_name;
}

std::optional<std::vector<ModelFormat>> formats_of(const std::vector<Entry>& entries) {
  std::set<ModelFormat> formats;
  for (const Entry& entry : entries) {
    if (const auto* file = std::get_if<FileEntry>(&entry)) {
      formats.insert(format_of(*file));
    }
  }
  return formats.empty() ? std::nullopt
                         : std::optional(std::vector(formats.begin(), formats.end()));
}

}  // namespace assay
