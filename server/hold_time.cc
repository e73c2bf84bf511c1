// SPDX-License-Identifier: Apache-2.0
#include "server/hold_time.h"

#include "schemas/log_record.h"

namespace assay::server {

Status hold_time(HeldClock& clock, storage::Store& store, const storage::SqliteOptions& options,
                 const Signer& log_signer) {
  // A lease is no record, so the last write may be later than the newest one. On a disk that is
  // full, and where somebody altered it, the records must do.
  const auto found = storage::last_write(options, log_signer);
  const std::optional<storage::LastWrite> last = found ? *found : std::nullopt;
  if (last) {
    clock.hold(*last);
  }
  ASSAY_ASSIGN(const auto snapshot, store.snapshot());
  ASSAY_ASSIGN(const storage::LogState state, snapshot->log_state());
  if (state.size == 0) {
    return {};
  }
  ASSAY_ASSIGN(const Bytes bytes, snapshot->log_record(state.size - 1));
  ASSAY_ASSIGN(const LogRecord record, parse_log_record(bytes));
  if (!last || record.time > last->time) {
    clock.hold({record.time, record.time});
  }
  return {};
}

}  // namespace assay::server
