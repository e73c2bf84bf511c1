// SPDX-License-Identifier: Apache-2.0
// An artifact (model, dataset, adapter ...) as its entries, and the root that binds them: the upper
// half of assay-tree-v1. How bytes become the root of one object is gpu_hash's business.
// Spec: schemas/tree.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
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

// What every digest of an artifact depends on; bound as leaf 0. Never depends on the host.
struct TreeParameters {
  HashAlgorithm hash = HashAlgorithm::kSha256;
  std::uint32_t chunk_size = kDefaultChunkSize;  // bytes; a power of two, 4096 to 1048576
  bool operator==(const TreeParameters&) const = default;
};

// invalid-parameter unless the chunk size is a power of two within the limits.
[[nodiscard]] Status check(const TreeParameters& parameters);

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

struct Artifact {
  TreeParameters parameters;
  std::vector<Entry> entries;  // files by path, then tensors by (file, name), as UTF-8 bytes
  bool operator==(const Artifact&) const = default;
};

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

// JSON forms: {"chunk_size":...,"hash":...,"tree":"assay-tree-v1"} and the two kinds of entry.
// Reading refuses unknown and missing members, wrong types and digests of another algorithm.
[[nodiscard]] Json to_json(const TreeParameters& parameters);
[[nodiscard]] Result<TreeParameters> tree_parameters_from_json(const Json& json);
[[nodiscard]] Json to_json(const Entry& entry);
[[nodiscard]] Result<Entry> entry_from_json(const Json& json, HashAlgorithm algorithm);

}  // namespace assay
