// SPDX-License-Identifier: Apache-2.0
// Access roles (what a caller may do) and key purposes (what a key's signature means), both from
// schemas/roles.def.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

#include "schemas/core/error.h"

namespace assay {

enum class AccessRole : std::uint8_t {
#define ASSAY_ACCESS_ROLE(enumerator, name, meaning) enumerator,
#define ASSAY_KEY_PURPOSE(enumerator, name, meaning)
#include "schemas/roles.def"
#undef ASSAY_ACCESS_ROLE
#undef ASSAY_KEY_PURPOSE
};

enum class KeyPurpose : std::uint8_t {
#define ASSAY_ACCESS_ROLE(enumerator, name, meaning)
#define ASSAY_KEY_PURPOSE(enumerator, name, meaning) enumerator,
#include "schemas/roles.def"
#undef ASSAY_ACCESS_ROLE
#undef ASSAY_KEY_PURPOSE
};

using AccessRoles = std::set<AccessRole>;

[[nodiscard]] std::string_view name(AccessRole role);
[[nodiscard]] std::string_view name(KeyPurpose purpose);
// Return the role or the purpose with this name. Errors: invalid-parameter when schemas/roles.def
// does not have the name.
[[nodiscard]] Result<AccessRole> access_role_from(std::string_view name);
[[nodiscard]] Result<KeyPurpose> key_purpose_from(std::string_view name);

}  // namespace assay
