// SPDX-License-Identifier: Apache-2.0
// Checks of a database before the service answers from it: its newest checkpoint is signed with the
// log's key, and the database is not behind the anchor (storage/anchor.h).
#pragma once

#include <optional>
#include <string>

#include "schemas/core/signer.h"
#include "storage/anchor.h"
#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// Checks the signature and the origin (the name of the log) of a signed checkpoint `note`. Errors:
// data-loss for a damaged note or signature; invalid-config for another origin or key.
[[nodiscard]] Status check_note(const std::string& note, const std::string& origin,
                                const Signer& signer);
// Runs check_note(), and checks that the note has the size and root of `state`. Errors: those of
// check_note(); data-loss when size or root differ.
[[nodiscard]] Status check_checkpoint(const LogState& state, const std::string& origin,
                                      const Signer& signer);

// Checks that the database is not behind the anchor, and returns the state in the anchor. Returns
// nullopt when there is no anchor file and none is needed. Errors: store-behind-anchor; data-loss;
// invalid-config.
[[nodiscard]] Result<std::optional<Anchor::State>> check_anchor(Connection& connection,
                                                                const LogState& state,
                                                                const SqliteOptions& options,
                                                                const Signer& signer);
// Compares the log at the anchor's size with the anchor; a part of check_anchor().
[[nodiscard]] Status check_anchored_log(Connection& connection, const LogState& state,
                                        const Anchor::State& anchor);
// Checks that no epoch (storage/governance.h) in `now` is smaller than in `then`. Needed because
// only the anchor protects the epochs until the chain of changes of trust and policy has its first
// record.
// Compares the record map with the anchor's. Errors: store-behind-anchor when it is that of an
// earlier write, or another one of the same write.
[[nodiscard]] Status check_map(const MapState& now, const MapState& then);
[[nodiscard]] Status check_epochs(const Epochs& now, const Epochs& then);

// Checks that `options.rules` is set, because without these rules nobody knows which reports
// decisions use (storage/report_rules.h). Errors: invalid-config when `options.rules` is null.
[[nodiscard]] Status require_rules(const SqliteOptions& options);

}  // namespace assay::storage::sqlite
