// SPDX-License-Identifier: Apache-2.0
// Sets the service's clock when a process opens a store.
#pragma once

#include "server/service/held_clock.h"
#include "storage/handover.h"

namespace assay::server {

// Makes `clock` go on from the time of the store's last write, or of the newest log record if that
// is later. Without this, leases that ended before a restart could be valid again, and reports of
// nodes could seem younger than they are. The caller must do this before its first write, because
// that write stores the time from which the next start goes on.
[[nodiscard]] Status hold_time(HeldClock& clock, storage::Store& store,
                               const storage::SqliteOptions& options, const Signer& log_signer);

}  // namespace assay::server
