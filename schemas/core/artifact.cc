// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/artifact.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <initializer_list>
#include <unordered_map>

#include "schemas/core/dtype.h"
#include "schemas/core/file_root.h"
#include "schemas/core/merkle.h"
#include "schemas/core/names.h"

namespace assay {
namespace {

constexpr Names<Objects, 3> kObjects = {
    {{{Objects::kFiles, "files"}, {Objects::kTensors, "tensors"}, {Objects::kBoth, "both"}}}};

constexpr std::string_view kTreeName = "assay-tree-v1";
// What safetensors headers reserve.
constexpr std::string_view kMetadataName = "__metadata__";

std::unexpected<Error> violation(std::string detail) {
  return fail(ErrorCode::kSchemaViolation, std::move(detail));
}

// The object must have the members `names`, and no others but `optional`.
Status check_members(const Json& json, std::initializer_list<std::string_view> names,
                     std::initializer_list<std::string_view> optional = {}) {
  if (!json.is_object()) {
    return violation("an object is expected here");
  }
  const auto is_in = [](const auto& list, const std::string& key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  for (const auto& [key, value] : json.items()) {
    if (!is_in(names, key) && !is_in(optional, key)) {
      return fail(ErrorCode::kUnknownMember, "this object has no such member", "/" + key);
    }
  }
  for (const std::string_view name : names) {
    if (!json.contains(name)) {
      return fail(ErrorCode::kSchemaViolation, "a member is missing", "/" + std::string(name));
    }
  }
  return {};
}

Result<std::string> text_member(const Json& json, const char* name) {
  const Json& value = json[name];
  if (!value.is_string()) {
    return fail(ErrorCode::kSchemaViolation, "a string is expected", std::string("/") + name);
  }
  return value.get<std::string>();
}

Result<std::uint64_t> size_value(const Json& value, const std::string& where) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0 ||
      value.get<std::int64_t>() > kMaxSafeInteger) {
    return fail(ErrorCode::kSchemaViolation, "a whole number from 0 to 2^53 - 1 is expected",
                where);
  }
  return value.get<std::uint64_t>();
}

Result<std::uint64_t> size_member(const Json& json, const char* name) {
  return size_value(json[name], std::string("/") + name);
}

Result<Digest> root_member(const Json& json, HashAlgorithm algorithm) {
  ASSAY_ASSIGN(const std::string hex, text_member(json, "root"));
  return Digest::from_hex(algorithm, hex);
}

// The patterns of parameters. An empty list says nothing, so it is not written.
Result<std::vector<std::string>> read_ignore(const Json& json) {
  std::vector<std::string> patterns;
  if (!json.contains("ignore")) {
    return patterns;
  }
  const Json& list = json["ignore"];
  if (!list.is_array() || list.empty()) {
    return fail(ErrorCode::kSchemaViolation, "a list of patterns is expected", "/ignore");
  }
  for (const Json& item : list) {
    if (!item.is_string()) {
      return fail(ErrorCode::kSchemaViolation, "a pattern is a string", "/ignore");
    }
    patterns.push_back(item.get<std::string>());
  }
  return patterns;
}

Result<Cut> cut_from_json(const Json& json, HashAlgorithm algorithm) {
  ASSAY_TRY(check_members(json, {"format", "root", "size"}));
  ASSAY_ASSIGN(const std::string text, text_member(json, "format"));
  ASSAY_ASSIGN(const CutFormat format, cut_format_from(text));
  ASSAY_ASSIGN(const std::uint64_t size, size_member(json, "size"));
  ASSAY_ASSIGN(Digest root, root_member(json, algorithm));
  return Cut{format, size, std::move(root)};
}

Result<Entry> file_from_json(const Json& json, HashAlgorithm algorithm) {
  ASSAY_TRY(check_members(json, {"kind", "path", "size", "root"}, {"cut"}));
  ASSAY_ASSIGN(std::string path, text_member(json, "path"));
  ASSAY_ASSIGN(const std::uint64_t size, size_member(json, "size"));
  ASSAY_ASSIGN(Digest root, root_member(json, algorithm));
  FileEntry file{std::move(path), size, std::move(root)};
  if (json.contains("cut")) {
    auto cut = cut_from_json(json["cut"], algorithm);
    if (!cut) {
      return fail(cut.error().code, cut.error().detail, "/cut" + cut.error().where);
    }
    file.cut = *std::move(cut);
  }
  return file;
}

Result<Entry> tensor_from_json(const Json& json, HashAlgorithm algorithm) {
  ASSAY_TRY(
      check_members(json, {"kind", "name", "dtype", "shape", "file", "offset", "size", "root"}));
  ASSAY_ASSIGN(std::string name, text_member(json, "name"));
  ASSAY_ASSIGN(std::string dtype, text_member(json, "dtype"));
  ASSAY_ASSIGN(std::string file, text_member(json, "file"));
  ASSAY_ASSIGN(const std::uint64_t offset, size_member(json, "offset"));
  ASSAY_ASSIGN(const std::uint64_t size, size_member(json, "size"));
  ASSAY_ASSIGN(Digest root, root_member(json, algorithm));
  if (!json["shape"].is_array()) {
    return fail(ErrorCode::kSchemaViolation, "an array is expected", "/shape");
  }
  std::vector<std::uint64_t> shape;
  for (const Json& dimension : json["shape"]) {
    ASSAY_ASSIGN(const std::uint64_t value, size_value(dimension, "/shape"));
    shape.push_back(value);
  }
  return TensorEntry{std::move(name), std::move(dtype), std::move(shape),
                     std::move(file), offset,           size,
                     std::move(root)};
}

constexpr auto kSizeLimit = static_cast<std::uint64_t>(kMaxSafeInteger);

using FileSizes = std::unordered_map<std::string_view, std::uint64_t>;

FileSizes file_sizes(const Artifact& artifact) {
  FileSizes sizes;
  for (const Entry& entry : artifact.entries) {
    if (const auto* file = std::get_if<FileEntry>(&entry)) {
      sizes.emplace(file->path, file->size);
    }
  }
  return sizes;
}

// A tensor whose file is not listed has nothing to lie inside of.
Status check_tensor(const TensorEntry& tensor, const FileSizes& files) {
  ASSAY_TRY(check_path(tensor.file));
  if (!is_utf8(tensor.name) || tensor.name == kMetadataName) {
    return violation("a tensor's name must be UTF-8 and not __metadata__");
  }
  if (tensor.size > kSizeLimit || tensor.offset > kSizeLimit - tensor.size) {
    return violation("a tensor must end below 2^53");
  }
  if (tensor_size(tensor.dtype, tensor.shape) != tensor.size) {
    return violation("the tensor's size does not follow from a known dtype and its shape");
  }
  const auto file = files.find(tensor.file);
  if (file != files.end() &&
      (tensor.offset > file->second || tensor.size > file->second - tensor.offset)) {
    return violation("the tensor does not lie inside its file");
  }
  return {};
}

Status check_file(const FileEntry& file, HashAlgorithm algorithm) {
  ASSAY_TRY(check_path(file.path));
  if (file.size > kSizeLimit) {
    return violation("sizes must stay below 2^53");
  }
  if (!file.cut) {
    return {};
  }
  if (file.cut->root.algorithm() != algorithm) {
    return fail(ErrorCode::kInvalidDigest, "the header's root is of another hash algorithm");
  }
  return check(*file.cut, file.size);
}

Status check_entry(const Entry& entry, HashAlgorithm algorithm, const FileSizes& files) {
  if (root_of(entry).algorithm() != algorithm) {
    return fail(ErrorCode::kInvalidDigest, "the entry's root is of another hash algorithm");
  }
  if (const auto* file = std::get_if<FileEntry>(&entry)) {
    return check_file(*file, algorithm);
  }
  return check_tensor(std::get<TensorEntry>(entry), files);
}

}  // namespace

const std::string& file_of(const Entry& entry) {
  const auto* file = std::get_if<FileEntry>(&entry);
  return file != nullptr ? file->path : std::get<TensorEntry>(entry).file;
}

std::uint64_t size_of(const Entry& entry) {
  return std::visit([](const auto& own) { return own.size; }, entry);
}

const Digest& root_of(const Entry& entry) {
  return std::visit([](const auto& own) -> const Digest& { return own.root; }, entry);
}

std::uint64_t own_size(const Entry& entry) {
  const auto* file = std::get_if<FileEntry>(&entry);
  return file != nullptr && file->cut ? file->cut->size : size_of(entry);
}

const Digest& own_root(const Entry& entry) {
  const auto* file = std::get_if<FileEntry>(&entry);
  return file != nullptr && file->cut ? file->cut->root : root_of(entry);
}

std::tuple<int, std::string_view, std::string_view> order_of(const Entry& entry) {
  if (const auto* file = std::get_if<FileEntry>(&entry)) {
    return {0, file->path, {}};
  }
  const auto& tensor = std::get<TensorEntry>(entry);
  return {1, tensor.file, tensor.name};
}

std::string label_of(const Entry& entry) {
  const auto* tensor = std::get_if<TensorEntry>(&entry);
  return tensor != nullptr ? tensor->file + "#" + tensor->name : file_of(entry);
}

Status check(const TreeParameters& parameters) {
  if (!std::has_single_bit(parameters.chunk_size) || parameters.chunk_size < kMinChunkSize ||
      parameters.chunk_size > kMaxChunkSize) {
    return fail(ErrorCode::kInvalidParameter,
                "the chunk size must be a power of two from 4096 to 1048576");
  }
  if (parameters.ignore.empty()) {
    return {};
  }
  for (const std::string& pattern : parameters.ignore) {
    ASSAY_TRY(check_ignore_pattern(pattern));
  }
  const auto not_ascending = std::ranges::adjacent_find(parameters.ignore, std::greater_equal<>());
  if (not_ascending != parameters.ignore.end()) {
    return fail(ErrorCode::kInvalidParameter, "ignore patterns must be sorted, none twice",
                *not_ascending);
  }
  ASSAY_ASSIGN(const std::string canonical, canonical_json(to_json(parameters)));
  if (canonical.size() > kMaxParametersBytes) {
    return fail(ErrorCode::kLimitExceeded,
                "the ignore patterns are too long: parameters have at most 4095 bytes");
  }
  return {};
}

const IgnorePreset* preset_of(std::string_view path) {
  for (const IgnorePreset& preset : kIgnorePresets) {
    for (const std::string_view pattern : preset.patterns) {
      const std::string_view place = pattern.substr(std::min<std::size_t>(1, pattern.size()));
      if (!place.empty() && path.starts_with(place) &&
          (path.size() == place.size() || path[place.size()] == '/')) {
        return &preset;
      }
    }
  }
  return nullptr;
}

Status check_ignore_pattern(std::string_view pattern) {
  std::string_view body = pattern;
  if (body.starts_with('/')) {
    body.remove_prefix(1);
  }
  const auto begins_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  };
  const auto characters = std::count_if(pattern.begin(), pattern.end(), begins_character);
  if (static_cast<std::size_t>(characters) > kMaxPatternLength) {
    return fail(ErrorCode::kInvalidParameter, "an ignore pattern has at most 512 characters");
  }
  // What a pattern may consist of is what a path may consist of.
  if (!check_path(body)) {
    return fail(ErrorCode::kInvalidParameter,
                "an ignore pattern needs parts that are neither empty nor '.' nor '..'",
                std::string(pattern));
  }
  return {};
}

void sort_ignore(std::vector<std::string>& patterns) {
  std::ranges::sort(patterns);
  const auto repeated = std::ranges::unique(patterns);
  patterns.erase(repeated.begin(), repeated.end());
}

Result<Objects> parse_objects(std::string_view text) {
  return kObjects.parse(text, "objects must be files, tensors or both");
}

std::string_view name(Objects objects) { return kObjects.of(objects); }

Objects objects_of(const std::vector<Entry>& entries) {
  const bool files = !entries.empty() && std::holds_alternative<FileEntry>(entries.front());
  const bool tensors = !entries.empty() && std::holds_alternative<TensorEntry>(entries.back());
  if (files && tensors) {
    return Objects::kBoth;
  }
  return tensors ? Objects::kTensors : Objects::kFiles;
}

Status check_path(std::string_view path) {
  const auto refuse = [&](const char* why) {
    return fail(ErrorCode::kInvalidPath, why, std::string(path));
  };
  if (!is_utf8(path)) {
    return fail(ErrorCode::kInvalidPath, "a path must be UTF-8", hex_encode(as_bytes(path)));
  }
  if (path.find('\0') != std::string_view::npos) {
    return refuse("a path must not hold a NUL");
  }
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t slash = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, slash - start);
    if (part.empty() || part == "." || part == "..") {
      return refuse("a path must be relative, without empty, '.' or '..' parts");
    }
    start = slash + 1;
  }
  return {};
}

void sort_entries(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return order_of(a) < order_of(b); });
}

Status check(const Artifact& artifact) {
  ASSAY_TRY(check_some(artifact));
  return check_cuts(artifact.parameters, artifact.entries);
}

Status check_some(const Artifact& artifact) {
  ASSAY_TRY(check(artifact.parameters));
  if (artifact.entries.size() > kMaxEntries) {
    return fail(ErrorCode::kLimitExceeded, "an artifact has at most 1048576 entries");
  }
  if (artifact.entries.empty()) {
    return violation("an artifact has at least one entry");
  }
  const FileSizes files = file_sizes(artifact);
  for (std::size_t i = 0; i < artifact.entries.size(); ++i) {
    const Entry& entry = artifact.entries[i];
    if (auto status = check_entry(entry, artifact.parameters.hash, files); !status) {
      Error error = std::move(status).error();
      error.where = label_of(entry);
      return std::unexpected(std::move(error));
    }
    if (i > 0 && order_of(artifact.entries[i - 1]) >= order_of(entry)) {
      return fail(ErrorCode::kSchemaViolation, "entries must be unique and in order",
                  label_of(entry));
    }
  }
  return {};
}

Result<std::vector<Digest>> artifact_leaves(const Artifact& artifact) {
  const HashAlgorithm algorithm = artifact.parameters.hash;
  std::vector<Digest> leaves;
  leaves.reserve(artifact.entries.size() + 1);
  ASSAY_ASSIGN(const std::string parameters, canonical_json(to_json(artifact.parameters)));
  leaves.push_back(merkle_leaf(algorithm, as_bytes(parameters)));
  for (const Entry& entry : artifact.entries) {
    ASSAY_ASSIGN(const std::string canonical, canonical_json(to_json(entry)));
    leaves.push_back(merkle_leaf(algorithm, as_bytes(canonical)));
  }
  return leaves;
}

Result<ArtifactId> artifact_id(const Artifact& artifact) {
  ASSAY_TRY(check(artifact));
  ASSAY_ASSIGN(const auto leaves, artifact_leaves(artifact));
  return ArtifactId(merkle_root(artifact.parameters.hash, leaves));
}

Json to_json(const TreeParameters& parameters) {
  Json json = {
      {"chunk_size", parameters.chunk_size}, {"hash", name(parameters.hash)}, {"tree", kTreeName}};
  if (!parameters.ignore.empty()) {
    json["ignore"] = parameters.ignore;
  }
  if (parameters.follow_symlinks) {
    json["follow_symlinks"] = true;
  }
  return json;
}

Result<TreeParameters> tree_parameters_from_json(const Json& json) {
  ASSAY_TRY(check_members(json, {"chunk_size", "hash", "tree"}, {"ignore", "follow_symlinks"}));
  if (json["tree"] != kTreeName) {
    return fail(ErrorCode::kSchemaViolation, "the tree must be assay-tree-v1", "/tree");
  }
  ASSAY_ASSIGN(const std::string hash, text_member(json, "hash"));
  ASSAY_ASSIGN(const HashAlgorithm algorithm, hash_algorithm_from(hash));
  ASSAY_ASSIGN(const std::uint64_t chunk_size, size_member(json, "chunk_size"));
  if (chunk_size > kMaxChunkSize) {
    return fail(ErrorCode::kInvalidParameter, "the chunk size is too large", "/chunk_size");
  }
  TreeParameters parameters{algorithm, static_cast<std::uint32_t>(chunk_size)};
  ASSAY_ASSIGN(parameters.ignore, read_ignore(json));
  // As for patterns: `false` says nothing, and would be another leaf for the same rules.
  if (json.contains("follow_symlinks") && json["follow_symlinks"] != true) {
    return fail(ErrorCode::kSchemaViolation, "write true, or leave it out", "/follow_symlinks");
  }
  parameters.follow_symlinks = json.contains("follow_symlinks");
  if (auto status = check(parameters); !status) {
    Error error = std::move(status).error();
    error.where = error.where.empty() ? "" : "/ignore";
    return std::unexpected(std::move(error));
  }
  return parameters;
}

Json to_json(const Entry& entry) {
  if (const auto* file = std::get_if<FileEntry>(&entry)) {
    Json json = {
        {"kind", "file"}, {"path", file->path}, {"size", file->size}, {"root", file->root.hex()}};
    if (const auto& cut = file->cut) {
      json["cut"] = {{"format", name(cut->format)}, {"size", cut->size}, {"root", cut->root.hex()}};
    }
    return json;
  }
  const auto& tensor = std::get<TensorEntry>(entry);
  Json json = {{"kind", "tensor"},         {"name", tensor.name},     {"dtype", tensor.dtype},
               {"file", tensor.file},      {"offset", tensor.offset}, {"size", tensor.size},
               {"root", tensor.root.hex()}};
  json["shape"] = tensor.shape;
  return json;
}

Result<Entry> entry_from_json(const Json& json, HashAlgorithm algorithm) {
  if (!json.is_object() || !json.contains("kind")) {
    return fail(ErrorCode::kSchemaViolation, "an entry has a kind", "/kind");
  }
  if (json["kind"] == "file") {
    return file_from_json(json, algorithm);
  }
  if (json["kind"] == "tensor") {
    return tensor_from_json(json, algorithm);
  }
  return fail(ErrorCode::kSchemaViolation, "the kind must be file or tensor", "/kind");
}

}  // namespace assay
