// SPDX-License-Identifier: Apache-2.0
// Names of access roles and key purposes, generated from schemas/roles.def.
#include "schemas/roles.h"

#include <array>
#include <utility>

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
  for (const auto& [role, text] : kRoleNames) {
    if (text == name) {
      return role;
    }
  }
  return fail(ErrorCode::kInvalidParameter, "there is no such access role");
}

Result<KeyPurpose> key_purpose_from(std::string_view name) {
  for (const auto& [purpose, text] : kPurposeNames) {
    if (text == name) {
      return purpose;
    }
  }
  return fail(ErrorCode::kInvalidParameter, "there is no such key purpose");
}

}  // namespace assay
