// SPDX-License-Identifier: Apache-2.0
// What kept files from being written while they were read. A process that writes through a shared
// mapping can change bytes without a new time, so times alone do not show every change.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// What was known of one file in each span of time in which it was open, from weak to strong.
enum class Protection : std::uint8_t {
  kNone,           // nothing; a change of size or of times was noticed, and no other one
  kReadOnlyMount,  // nobody wrote through the mount that was read; another mount may be writable
  kLease,          // no process of this machine had the file open for writing, or mapped so
  kFsVerity,       // the kernel compared every page with a digest that cannot be changed
};
inline constexpr std::size_t kProtections = 4;

// Returns "none", "read-only-mount", "lease" or "fs-verity".
[[nodiscard]] std::string_view name(Protection protection);

// How many files were read under each protection.
class ReadProtection {
 public:
  void add(Protection protection, std::uint64_t files = 1) {
    files_[static_cast<std::size_t>(protection)] += files;
  }
  [[nodiscard]] std::uint64_t files(Protection protection) const {
    return files_[static_cast<std::size_t>(protection)];
  }
  [[nodiscard]] bool empty() const { return files_ == std::array<std::uint64_t, kProtections>{}; }
  // Returns the weakest protection of all files; kNone when there is no file.
  [[nodiscard]] Protection weakest() const;
  bool operator==(const ReadProtection&) const = default;

 private:
  std::array<std::uint64_t, kProtections> files_{};
};

// JSON form: {"weakest":NAME,"files":{NAME:N,...}} with all four names.
[[nodiscard]] Json to_json(const ReadProtection& protection);
// Reads what schemas/json/verification-report.schema.json allows. Errors: schema-violation when
// there is no file, or `weakest` is not what the counts say.
[[nodiscard]] Result<ReadProtection> read_protection_from(const Json& json);

}  // namespace assay
