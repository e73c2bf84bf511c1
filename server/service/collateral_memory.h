// SPDX-License-Identifier: Apache-2.0
// Authenticated collateral (attestation/collateral_set.h) that the service has at hand, so that a
// set is parsed and its signatures are verified once for all quotes; and what stored parts ask for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schemas/core/lru.h"

namespace assay::attestation {
class CollateralSet;
}  // namespace assay::attestation

namespace assay::server {

inline constexpr std::size_t kCollateralMemoryBytes = 64U << 20;

// The sets that were used last, by the ids of the stored documents that each consists of. An entry
// therefore never becomes wrong: what moves on has another key. The weight of a set is in bytes.
using CollateralMemory = Lru<std::string, std::shared_ptr<const attestation::CollateralSet>>;

// The names of parts that a stored part asks for, by the id of its document: texts of RIMs are not
// read again for each device.
inline constexpr std::size_t kAsksOfParts = 16384;
using AsksMemory = Lru<std::string, std::vector<std::string>>;

}  // namespace assay::server
