// SPDX-License-Identifier: Apache-2.0
// Authenticated collateral (attestation/collateral_set.h) that the service has at hand, so that a
// set is parsed and its signatures are verified once for all quotes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/service/lru.h"

namespace assay::attestation {
class CollateralSet;
}  // namespace assay::attestation

namespace assay::server {

inline constexpr std::size_t kCollateralMemoryBytes = 32U << 20;

// The sets that were used last, by the ids of the stored documents that each consists of. An entry
// therefore never becomes wrong: what moves on has another key. The weight of a set is in bytes.
using CollateralMemory = Lru<std::string, std::shared_ptr<const attestation::CollateralSet>>;

}  // namespace assay::server
