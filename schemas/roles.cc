// SPDX-License-Identifier: Apache-2.0
// Names of access roles and key purposes, generated from schemas/roles.def.
#include "schemas/roles.h"

#include <array>
#include <utility>

#include "schemas/core/names.h"

namespace assay {
namespace {

constexpr std::array kRoleNames = {
#define ASSAY_ACCESS_ROLE(enumerator, name, meaning) \
  std::pair<AccessRole, std::string_view>{AccessRole::enumerator, name},
#define ASSAY_KEY_PURPOSE(enumerator, name, meaning)
#include "schemas/roles.def"
#undef ASSAY_ACCESS_ROLE
#undef ASSAY_KEY_PURPOSE
};

constexpr std::array kPurposeNames = {
#define ASSAY_ACCESS_ROLE(enumerator, name, meaning)
#define ASSAY_KEY_PURPOSE(enumerator, name, meaning) \
  std::pair<KeyPurpose, std::string_view>{KeyPurpose::enumerator, name},
#include "schemas/roles.def"
#undef ASSAY_ACCESS_ROLE
#undef ASSAY_KEY_PURPOSE
};

}  // namespace

std::string_view name(AccessRole role) {
  return kRoleNames.at(static_cast<std::size_t>(role)).second;
}

std::string_view name(KeyPurpose purpose) {
  return kPurposeNames.at(static_cast<std::size_t>(purpose)).second;
}

Result<AccessRole> access_role_from(std::string_view name) {
  return Names{kRoleNames}.parse(name, "there is no such access role");
}

Result<KeyPurpose> key_purpose_from(std::string_view name) {
  return Names{kPurposeNames}.parse(name, "there is no such key purpose");
}

}  // namespace assay
