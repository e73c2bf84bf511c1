// SPDX-License-Identifier: Apache-2.0
// What is done to a store besides reading and writing: the hand-over of its log to another key, and
// the time that it was written last.
#pragma once

#include "schemas/core/signer.h"
#include "storage/store.h"

namespace assay::storage {

// Puts the signature of `next` beside that of `current` on the newest checkpoint, in database and
// anchor, so that the log can be opened with `next` from then on. Once both are there it changes
// nothing. For a store that open_sqlite() has taken, with `current`, and that is closed again.
// invalid-config when the newest checkpoint is not one of `current`; the errors of open_sqlite.
[[nodiscard]] Status add_log_signature(const SqliteOptions& options, const Signer& current,
                                       const Signer& next);

// Nothing before the first write, or when it was altered. Also while the store is open.
// `log_signer` is the log's key.
[[nodiscard]] Result<std::optional<LastWrite>> last_write(const SqliteOptions& options,
                                                          const Signer& log_signer);

}  // namespace assay::storage
