// SPDX-License-Identifier: Apache-2.0
// An artifact (model, dataset, adapter ...) as its entries, and the root that binds them: the upper
// half of assay-tree-v1. How bytes become the root of one object is gpu_hash's business.
// Spec: schemas/tree.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

inline constexpr std::uint32_t kDefaultChunkSize = 16384;
inline constexpr std::uint32_t kMinChunkSize = 4096;
inline constexpr std::uint32_t kMaxChunkSize = 1048576;
// Entries of one artifact that a single document may list.
inline constexpr std::size_t kMaxEntries = 1U << 20;

// Leaf 0 is shorter than any chunk: bytes of the parameters' canonical JSON.
inline constexpr std::size_t kMaxParametersBytes = 4095;
// Characters of one ignore pattern.
inline constexpr std::size_t kMaxPatternLength = 512;

// Files that may lie at the top of a model's directory without being a part of it: version control,
// and what `assay manifest create` writes beside the weights. Policies accept these patterns
// without saying so (policy/manifest_condition.cc), and none else.
inline constexpr std::string_view kManifestFile = "model.assay.json";
inline constexpr std::array<std::string_view, 4> kUsualIgnore = {
    "/.git", "/model.assay.json", "/model.assay.json.times", "/model.assay.outline"};

// What every digest of an artifact depends on, and which files it leaves out; bound as leaf 0.
// Never depends on the host.
struct TreeParameters {
  HashAlgorithm hash = HashAlgorithm::kSha256;
  std::uint32_t chunk_size = kDefaultChunkSize;  // bytes; a power of two, 4096 to 1048576
  std::vector<std::string> ignore{};             // patterns, sorted as bytes, none twice
  bool follow_symlinks = false;                  // links count as what they lead to
  bool operator==(const TreeParameters&) const = default;
};

// invalid-parameter unless the chunk size is a power of two within the limits and the patterns are
// valid, in order and unique; limit-exceeded when they are longer than kMaxParametersBytes allow.
[[nodiscard]] Status check(const TreeParameters& parameters);

// What an ignore pattern may look like (schemas/tree.md section 4.3): at most kMaxPatternLength
// characters, a leading '/' or none, and then what check_path() takes. invalid-parameter; the
// error's `where` is the pattern.
[[nodiscard]] Status check_ignore_pattern(std::string_view pattern);
// Puts patterns into the order that parameters have them in, each once.
void sort_ignore(std::vector<std::string>& patterns);

struct FileEntry {
  std::string path;    // relative, see check_path
  std::uint64_t size;  // bytes, below 2^53
  Digest root;
  bool operator==(const FileEntry&) const = default;
};

struct TensorEntry {
  std::string name;
  std::string dtype;                 // as spelled in the safetensors header
  std::vector<std::uint64_t> shape;  // empty for a scalar
  std::string file;                  // path of the file that holds it
  std::uint64_t offset;              // bytes from the start of the file, below 2^53
  std::uint64_t size;                // bytes, below 2^53
  Digest root;
  bool operator==(const TensorEntry&) const = default;
};

using Entry = std::variant<FileEntry, TensorEntry>;

// Of either kind of entry: the path of the file that holds it, its bytes, the root of its tree.
[[nodiscard]] const std::string& file_of(const Entry& entry);
[[nodiscard]] std::uint64_t size_of(const Entry& entry);
[[nodiscard]] const Digest& root_of(const Entry& entry);
// Entries of an artifact are in this order: files by path, then tensors by file and name, as bytes.
// Borrows from the entry.
[[nodiscard]] std::tuple<int, std::string_view, std::string_view> order_of(const Entry& entry);
// For people: "path" or "path#name".
[[nodiscard]] std::string label_of(const Entry& entry);

struct Artifact {
  TreeParameters parameters;
  std::vector<Entry> entries;  // files by path, then tensors by (file, name), as UTF-8 bytes
  bool operator==(const Artifact&) const = default;
};

// Which kinds of entries there are.
enum class Objects : std::uint8_t { kFiles, kTensors, kBoth };
// "files", "tensors", "both"; invalid-parameter for any other text.
[[nodiscard]] Result<Objects> parse_objects(std::string_view text);
[[nodiscard]] std::string_view name(Objects objects);
// Of entries in the order of artifacts; there is at least one.
[[nodiscard]] Objects objects_of(const std::vector<Entry>& entries);

// Path of a file in an artifact: relative, '/' between parts, valid UTF-8, no empty, "." or ".."
// part, no NUL. Compared as bytes, never normalised. invalid-path otherwise.
[[nodiscard]] Status check_path(std::string_view path);

// Puts entries into the order that the root is defined over.
void sort_entries(std::vector<Entry>& entries);

// Everything the root's definition asks of an artifact (schemas/tree.md section 5.2): parameters,
// at least one entry, paths, order, uniqueness, sizes below 2^53, tensor sizes that follow from
// dtype and shape, digests of the artifact's algorithm, tensors inside a file entry when there are
// file entries. The error's `where` names the entry.
[[nodiscard]] Status check(const Artifact& artifact);

// Leaves of the artifact tree: leaf 0 is the parameters, leaf i + 1 is entry i.
[[nodiscard]] Result<std::vector<Digest>> artifact_leaves(const Artifact& artifact);
// check(), then the RFC 9162 root over artifact_leaves().
[[nodiscard]] Result<ArtifactId> artifact_id(const Artifact& artifact);

// JSON forms: {"chunk_size":...,"hash":...,"tree":"assay-tree-v1"}, with "ignore":[...] and
// "follow_symlinks":true only when they say something, and the two kinds of entry.
// Reading refuses unknown and missing members, wrong types and digests of another algorithm.
[[nodiscard]] Json to_json(const TreeParameters& parameters);
[[nodiscard]] Result<TreeParameters> tree_parameters_from_json(const Json& json);
[[nodiscard]] Json to_json(const Entry& entry);
[[nodiscard]] Result<Entry> entry_from_json(const Json& json, HashAlgorithm algorithm);

}  // namespace assay
