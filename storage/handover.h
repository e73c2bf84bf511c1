// SPDX-License-Identifier: Apache-2.0
// Maintenance of a store: handing its log over to another key, and finding the time of its last
// write.
#pragma once

#include "schemas/core/signer.h"
#include "storage/store.h"

namespace assay::storage {

// Adds the signature of `next` beside that of `current` to the newest checkpoint, in the database
// and in the anchor (storage/anchor.h). Afterwards the log can also be opened with `next`. When
// both signatures exist already, the call changes nothing. The store must have been opened at least
// once with open_sqlite() and `current`, and must be closed. Errors: invalid-config when `current`
// did not sign the newest checkpoint; those of open_sqlite().
[[nodiscard]] Status add_log_signature(const SqliteOptions& options, const Signer& current,
                                       const Signer& next);

// Returns the times of the last write (storage/last_write.h). Returns nullopt before the first
// write, and when the stored times were altered. May be called while the store is open.
// `log_signer` must hold the key of the log.
[[nodiscard]] Result<std::optional<LastWrite>> last_write(const SqliteOptions& options,
                                                          const Signer& log_signer);

}  // namespace assay::storage
