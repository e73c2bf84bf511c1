// SPDX-License-Identifier: Apache-2.0
// An artifact (model, dataset, adapter ...) as a list of entries, and the root that binds them.
// This is the upper half of assay-tree-v1; gpu_hash computes the root of a segment of a file from
// its bytes. Spec: schemas/tree.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "schemas/core/cut.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

inline constexpr std::uint32_t kDefaultChunkSize = 16384;
inline constexpr std::uint32_t kMinChunkSize = 4096;
inline constexpr std::uint32_t kMaxChunkSize = 1048576;
// A document may list at most this many entries of one artifact.
inline constexpr std::size_t kMaxEntries = 1U << 20;

// Largest size in bytes of the canonical JSON of tree parameters. The limit keeps leaf 0, which
// contains this JSON, shorter than any chunk.
inline constexpr std::size_t kMaxParametersBytes = 4095;
// Largest number of characters in one ignore pattern.
inline constexpr std::size_t kMaxPatternLength = 512;

// Ignore patterns for files that may lie at the top of a model's directory without being part of
// the model. The files belong to version control, or `assay manifest create` writes them beside the
// weights. By default, policies accept these ignore patterns and no others
// (policy/conditions/manifest.cc).
inline constexpr std::string_view kManifestFile = "model.assay.json";
inline constexpr std::array<std::string_view, 4> kUsualIgnore = {
    "/.git", "/model.assay.json", "/model.assay.json.times", "/model.assay.outline"};

// Records that a download tool keeps beside the files it fetched, with times and locks that differ
// from one download to the next. A preset always gives all of its patterns, whether such files are
// there or not, so that two downloads of one revision have one root.
struct IgnorePreset {
  std::string_view name;                     // as in --ignore-preset NAME
  std::array<std::string_view, 4> patterns;  // unused ones are empty
};
inline constexpr std::array<IgnorePreset, 2> kIgnorePresets = {{
    // hf download --local-dir: CACHEDIR.TAG, .gitignore and download/*.metadata, *.lock,
    // *.incomplete; hf upload keeps upload/ beside them.
    {"huggingface", {"/.cache/huggingface"}},
    // modelscope download: lists of files, id and revision of the model, unfinished files.
    {"modelscope", {"/.msc", "/.mdl", "/.mv", "/._____temp"}},
}};
// Returns the preset of which a pattern matches `path`, a path in an artifact; null when none does.
[[nodiscard]] const IgnorePreset* preset_of(std::string_view path);

// Parameters that every digest of an artifact depends on, and patterns of the files that the
// artifact leaves out. The parameters are bound into the root as leaf 0. They do not depend on the
// host.
struct TreeParameters {
  HashAlgorithm hash = HashAlgorithm::kSha256;
  std::uint32_t chunk_size = kDefaultChunkSize;  // bytes; a power of two, 4096 to 1048576
  std::vector<std::string> ignore{};             // patterns, sorted as bytes, each once
  bool follow_symlinks = false;  // a link is treated as the file or directory it leads to
  bool operator==(const TreeParameters&) const = default;
};

// Checks parameters. Errors: invalid-parameter unless the chunk size is a power of two within the
// limits and the patterns are valid, sorted and unique; limit-exceeded when their canonical JSON is
// longer than kMaxParametersBytes.
[[nodiscard]] Status check(const TreeParameters& parameters);

// Checks an ignore pattern (schemas/tree.md section 4.3): at most kMaxPatternLength characters, an
// optional leading '/', and a rest that check_path() accepts. Errors: invalid-parameter; `where` is
// the pattern.
[[nodiscard]] Status check_ignore_pattern(std::string_view pattern);
// Sorts patterns into the order that TreeParameters requires, and removes duplicates.
void sort_ignore(std::vector<std::string>& patterns);

struct FileEntry {
  std::string path;    // relative; see check_path()
  std::uint64_t size;  // bytes, below 2^53
  Digest root;
  std::optional<Cut> cut{};  // absent: the file is one segment
  bool operator==(const FileEntry&) const = default;
};

struct TensorEntry {
  std::string name;
  std::string dtype;                 // as its format spells it (schemas/core/dtype.h)
  std::vector<std::uint64_t> shape;  // empty for a scalar
  std::string file;                  // path of the file that holds it
  std::uint64_t offset;              // bytes from the start of the file, below 2^53
  std::uint64_t size;                // bytes, below 2^53
  Digest root;
  bool operator==(const TensorEntry&) const = default;
};

using Entry = std::variant<FileEntry, TensorEntry>;

// These functions accept both kinds of entry. They return the path of the file that holds the
// entry, the entry's size in bytes, and the root of the entry's tree.
[[nodiscard]] const std::string& file_of(const Entry& entry);
[[nodiscard]] std::uint64_t size_of(const Entry& entry);
[[nodiscard]] const Digest& root_of(const Entry& entry);
// Return size and root of the entry's own bytes: of a cut file those of its header, of every other
// entry all of it. Outlines, chunk proofs and spot checks are about own bytes. The other bytes of a
// cut file are own bytes of its tensors. The own bytes of a file begin at its byte 0.
[[nodiscard]] std::uint64_t own_size(const Entry& entry);
[[nodiscard]] const Digest& own_root(const Entry& entry);
// Returns the sort key of an entry, borrowed from the entry. Entries of an artifact are sorted by
// this key: files by path, then tensors by file and name, compared as bytes.
[[nodiscard]] std::tuple<int, std::string_view, std::string_view> order_of(const Entry& entry);
// Returns a label for people: "path" or "path#name".
[[nodiscard]] std::string label_of(const Entry& entry);

struct Artifact {
  TreeParameters parameters;
  std::vector<Entry> entries;  // in the order of order_of()
  bool operator==(const Artifact&) const = default;
};

// The kinds of entries that an artifact lists.
enum class Objects : std::uint8_t { kFiles, kTensors, kBoth };
// Parses "files", "tensors" or "both". Errors: invalid-parameter for any other text.
[[nodiscard]] Result<Objects> parse_objects(std::string_view text);
[[nodiscard]] std::string_view name(Objects objects);
// Returns the kinds among `entries`, which must be sorted by order_of() and not empty.
[[nodiscard]] Objects objects_of(const std::vector<Entry>& entries);

// Checks the path of a file in an artifact: relative, '/' between parts, valid UTF-8, no empty, "."
// or ".." part, no NUL. Paths are compared as bytes and never normalised. Errors: invalid-path.
[[nodiscard]] Status check_path(std::string_view path);

// Sorts entries by order_of(), because the root is defined over entries in this order.
void sort_entries(std::vector<Entry>& entries);

// Checks everything that the definition of the root requires (schemas/tree.md section 5.2):
// parameters, at least one entry, paths, order, uniqueness, sizes below 2^53, and digests of the
// artifact's algorithm. Sizes of tensors must follow from dtype and shape. When there are entries
// of files and of tensors, the tensors must lead to the roots of their files (check_cuts() of
// schemas/core/file_root.h). The `where` of an error names the entry.
[[nodiscard]] Status check(const Artifact& artifact);
// The same for some of the entries of an artifact, of which the tensors need not be all, nor their
// files among them.
[[nodiscard]] Status check_some(const Artifact& artifact);

// Returns the leaves of the artifact tree: leaf 0 is the parameters, leaf i + 1 is entry i.
[[nodiscard]] Result<std::vector<Digest>> artifact_leaves(const Artifact& artifact);
// Runs check(), then returns the RFC 9162 root over artifact_leaves().
[[nodiscard]] Result<ArtifactId> artifact_id(const Artifact& artifact);

// JSON form of the parameters: {"chunk_size":...,"hash":...,"tree":"assay-tree-v1"}. "ignore":[...]
// is present only when there are patterns, "follow_symlinks":true only when set. The parsing
// functions refuse unknown and missing members, wrong types, and digests of another algorithm than
// `algorithm`.
[[nodiscard]] Json to_json(const TreeParameters& parameters);
[[nodiscard]] Result<TreeParameters> tree_parameters_from_json(const Json& json);
[[nodiscard]] Json to_json(const Entry& entry);
[[nodiscard]] Result<Entry> entry_from_json(const Json& json, HashAlgorithm algorithm);

}  // namespace assay
