// SPDX-License-Identifier: Apache-2.0
// What a database must fulfil before anything in it is served: its newest checkpoint is ours, and
// it is not behind the anchor.
#pragma once

#include <optional>
#include <string>

#include "schemas/core/signer.h"
#include "storage/anchor.h"
#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// data-loss for a damaged note or signature, invalid-config for another origin or key.
[[nodiscard]] Status check_note(const std::string& note, const std::string& origin,
                                const Signer& signer);
// The same, and that the note says what `state` does.
[[nodiscard]] Status check_checkpoint(const LogState& state, const std::string& origin,
                                      const Signer& signer);

// What the anchor holds, when the database is not behind it; nothing when there is none and that is
// allowed. store-behind-anchor.
[[nodiscard]] Result<std::optional<Anchor::State>> check_anchor(Connection& connection,
                                                                const LogState& state,
                                                                const SqliteOptions& options,
                                                                const Signer& signer);
// The part of it that compares with what is there: the log at the anchor's size.
[[nodiscard]] Status check_anchored_log(Connection& connection, const LogState& state,
                                        const Anchor::State& anchor);
// Epochs that no record of the chain covers (nothing was ever governed) only the anchor knows.
[[nodiscard]] Status check_epochs(const Epochs& now, const Epochs& then);

// invalid-config without them: nobody would know which reports count.
[[nodiscard]] Status require_rules(const SqliteOptions& options);

}  // namespace assay::storage::sqlite
