// SPDX-License-Identifier: Apache-2.0
// The verifier plug-ins of the configuration.
#pragma once

#include <cstdint>

#include "attestation/verifier_registry.h"
#include "server/config.h"
#include "storage/store.h"

namespace assay::server {

// Returns the verifiers that a service with this configuration has. Reads the plug-ins' files;
// their processes are started when the first evidence comes. `generation` is what note_plugins()
// returned; 0 where nothing is appraised. Errors: plugin-unusable; invalid-config for a second
// verifier of one type or media type.
[[nodiscard]] Result<attestation::VerifierRegistry> load_verifiers(const Config& config,
                                                                   std::uint64_t generation);

// Notes in the store which plug-ins this service has. When they are others than at the last start,
// everything that a plug-in appraised is stale until it has been appraised again, also what was
// appraised by one that is gone. Returns the number of this set of plug-ins; 0 while there never
// was one.
[[nodiscard]] Result<std::uint64_t> note_plugins(const Config& config, storage::Store& store);

}  // namespace assay::server
