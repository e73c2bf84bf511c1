// SPDX-License-Identifier: Apache-2.0
// A signed statement beside the files that are there: what must be hashed to compare them, what is
// missing, and what nobody signed. Spec: OMS v1.0 sections 6.2 and 8.4.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/oms/statement.h"

namespace assay::attestation::oms {

// Files of version control at the top of a model, which no signature covers unless it lists them.
inline constexpr std::array<std::string_view, 4> kDefaultIgnore = {".git", ".gitattributes",
                                                                   ".github", ".gitignore"};

// Returns the paths that are left out with all that lies below them: those of the statement, those
// of kDefaultIgnore under which the statement lists nothing, and `more`, such as the signature's
// own file. Sorted, none twice.
[[nodiscard]] std::vector<std::string> left_out(const Statement& statement,
                                                const std::vector<std::string>& more);

struct DiskFile {
  std::string path;  // in the model
  std::uint64_t size;
};

// Bytes [begin, end) of a file, whose digest is to be that of a resource.
struct Part {
  std::size_t file;  // index into the files that are there
  std::uint64_t begin;
  std::uint64_t end;
  std::size_t resource;  // index into Statement::resources
};

enum class Fault : std::uint8_t { kMissing, kExtra, kChanged };
// Returns "missing", "extra" or "changed".
[[nodiscard]] std::string_view name(Fault fault);

struct Finding {
  Fault fault;
  std::string path;
  std::string detail;  // for people; may be empty
  bool operator==(const Finding&) const = default;
};

struct Coverage {
  std::vector<Part> parts;
  std::vector<Finding> findings;  // sorted by path
  // Empty files in the way of shards, which have no shard: the signature says nothing of them,
  // not even that they are there (section 6.4). Not a finding.
  std::vector<std::string> unsigned_empty;
  std::vector<std::string> unsigned_files;  // others, with Extra::kAllowed
};

enum class Extra : std::uint8_t { kRefused, kAllowed };

// Compares `statement` with `files`, which are those of a directory, or the one file that is the
// model when `only_file` is true. Files that the statement leaves out are not among them. Nothing
// is hashed: the caller compares the digest of each part.
[[nodiscard]] Coverage compare_files(const Statement& statement, std::span<const DiskFile> files,
                                     bool only_file, Extra extra);

}  // namespace assay::attestation::oms
