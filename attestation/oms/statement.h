// SPDX-License-Identifier: Apache-2.0
// What an OMS signature says: the in-toto statement that is signed, with every file or shard of a
// model and its digest. Spec: OMS v1.0 sections 5 and 6 (ossf/model-signing-spec, spec/v1.0.md).
// Releases 0.3 to 1.1 of model_signing write the same predicate; what they write otherwise than the
// spec says is read as well and named below.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/flat_hash.h"

namespace assay::attestation::oms {

inline constexpr std::string_view kPredicateType = "https://model_signing/signature/v1.0";
// Of release 0.2: the digests are those of the subjects, and nothing says how files were chosen.
inline constexpr std::string_view kOldPredicateType = "https://model_signing/Digests/v0.1";

// Largest number of files or shards in one statement.
inline constexpr std::size_t kMaxResources = 131072;
inline constexpr std::size_t kMaxIgnorePaths = 1024;
inline constexpr std::size_t kMaxNameBytes = 4096;  // of a resource or an ignored path
// Shards that model_signing makes when it is not told otherwise.
inline constexpr std::uint64_t kDefaultShardSize = 1'000'000'000;
// The name that model_signing gives the only file of a model that is a file. The spec says that it
// is the last part of the path (section 6.1.2).
inline constexpr std::string_view kOnlyFile = ".";

enum class Method : std::uint8_t { kFiles, kShards };
[[nodiscard]] std::string_view name(Method method);

// How files were chosen and hashed (section 5.2.2).
struct Serialization {
  Method method = Method::kFiles;
  FlatHash hash = FlatHash::kSha256;
  std::uint64_t shard_size = 0;  // bytes; 0 for kFiles
  bool allow_symlinks = false;
  std::vector<std::string> ignore_paths{};  // relative paths with all that lies below them
  bool operator==(const Serialization&) const = default;
};

// A file, or bytes [begin, end) of one.
struct Resource {
  std::string path;         // kOnlyFile, or valid by check_path() (schemas/core/artifact.h)
  std::uint64_t begin = 0;  // bytes; both 0 for a whole file
  std::uint64_t end = 0;
  Bytes digest;
  bool operator==(const Resource&) const = default;
};

struct Statement {
  bool old_form = false;     // kOldPredicateType
  std::string subject_name;  // for people: it binds nothing (section 5.1)
  Serialization serialization{};
  std::vector<Resource> resources;  // in the order of the document
};

enum class OldForm : std::uint8_t { kRefused, kAccepted };

// Parses the payload of an envelope. Checks that the root in the subject is that of the resources,
// which the spec leaves to the verifier (section 6.5.1). Refused beyond what the spec demands:
//   - a subject that has other digests than one SHA-256, because nothing says what they are of;
//   - names that are not written in their one form, names twice, a file that is also a directory,
//     resources below an ignored path, an order other than by code points or by parts of paths;
//   - a resource whose algorithm is not that of the serialization. The algorithm of a shard may be
//     "sha256-sharded-1000000000" with the shard size, as model_signing writes it;
//   - shards that leave a gap, overlap, or have another size than they should.
// Errors: those of parse_json(); predicate-type-unknown, also for the old form unless it is
// accepted; schema-violation and unknown-member; invalid-path for names; invalid-digest for hashes
// that are not computed here, BLAKE3 among them, and for malformed digests; root-mismatch;
// limit-exceeded.
[[nodiscard]] Result<Statement> parse_oms_statement(ByteView payload, OldForm old_form);

// Returns the root of a model: SHA-256 over the raw digests of its resources in their order
// (section 6.5.1).
[[nodiscard]] Digest oms_root(const std::vector<Resource>& resources);

// Sorts resources by their names in code points (section 6.5), as a statement lists them.
void sort_resources(std::vector<Resource>& resources, const Serialization& how);

// Returns the statement as JSON, with the root in its subject. `resources` are sorted by
// sort_resources(). The algorithm of shards is written as model_signing writes and compares it.
[[nodiscard]] Result<std::string> encode_oms_statement(const Statement& statement);

}  // namespace assay::attestation::oms
