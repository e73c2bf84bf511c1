// SPDX-License-Identifier: Apache-2.0
// Registrations of nodes (schemas/registration.h) in words.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/json.h"

namespace assay::cli {

// Returns the lines for a registration. A member that has no words is shown with its value.
[[nodiscard]] std::vector<std::string> describe_registration(const Json& registration,
                                                             std::size_t limit);

// Returns why a difference of two registrations may let in more nodes than before; empty: it does
// not. `path` is the member.
[[nodiscard]] std::string registration_flag(const std::string& path, const Json& before,
                                            const Json& after);

}  // namespace assay::cli
