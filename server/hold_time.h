// SPDX-License-Identifier: Apache-2.0
// Where time goes on when a process opens a store.
#pragma once

#include "server/service/held_clock.h"
#include "storage/handover.h"

namespace assay::server {

// Time does not go back behind what the store says: leases and validities of before a restart would
// begin again. Before the first write, whose time the next start goes by.
[[nodiscard]] Status hold_time(HeldClock& clock, storage::Store& store,
                               const storage::SqliteOptions& options, const Signer& log_signer);

}  // namespace assay::server
