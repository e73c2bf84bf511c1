// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/read_protection.h"

#include <string>

namespace assay {
namespace {

constexpr std::array<std::string_view, kProtections> kProtectionNames = {"none", "read-only-mount",
                                                                         "lease", "fs-verity"};

}  // namespace

std::string_view name(Protection protection) {
  return kProtectionNames.at(static_cast<std::size_t>(protection));
}

Protection ReadProtection::weakest() const {
  for (std::size_t i = 0; i < kProtections; ++i) {
    if (files_.at(i) > 0) {
      return static_cast<Protection>(i);
    }
  }
  return Protection::kNone;
}

Json to_json(const ReadProtection& protection) {
  Json files = Json::object();
  for (std::size_t i = 0; i < kProtections; ++i) {
    files[std::string(kProtectionNames.at(i))] = protection.files(static_cast<Protection>(i));
  }
  return {{"weakest", name(protection.weakest())}, {"files", std::move(files)}};
}

Result<ReadProtection> read_protection_from(const Json& json) {
  ReadProtection protection;
  for (std::size_t i = 0; i < kProtections; ++i) {
    protection.add(static_cast<Protection>(i),
                   json["files"][std::string(kProtectionNames.at(i))].get<std::uint64_t>());
  }
  if (protection.empty() || json["weakest"] != name(protection.weakest())) {
    return fail(ErrorCode::kSchemaViolation,
                "weakest is the first of none, read-only-mount, lease and fs-verity that has files",
                "/weakest");
  }
  return protection;
}

}  // namespace assay
