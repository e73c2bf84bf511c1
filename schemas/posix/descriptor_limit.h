// SPDX-License-Identifier: Apache-2.0
// How many descriptors this process may have open.
#pragma once

#include <cstdint>

namespace assay {

// Raises the limit as far as the system allows without privileges: to the hard limit. Changes
// nothing when the system refuses.
void raise_descriptor_limit();
// Returns the present limit; 0 when the system does not tell.
[[nodiscard]] std::uint64_t descriptor_limit();

}  // namespace assay
