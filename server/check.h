// SPDX-License-Identifier: Apache-2.0
// `assayd check`, `backup`, `repair` and `restore`: commands on an installation's files on disk.
// docs/operations.md and docs/recovery.md say when to use each command.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "server/config.h"
#include "server/service/upkeep/check_store.h"
#include "storage/backup.h"
#include "storage/inspect.h"

namespace assay::server {

// Finds everything that is wrong with the store of `config`. Changes nothing, so a service may be
// running meanwhile. `deep`: see storage::Inspection::find.
[[nodiscard]] Result<std::vector<Finding>> check_installation(const Config& config,
                                                              const Clock& clock, bool deep,
                                                              const storage::Progress& progress);

// Rebuilds indexes and rows from the log and its documents, while no service runs. Deletes damaged
// rows that cannot be rebuilt from the log and the documents. Errors: unavailable while a service
// runs.
[[nodiscard]] Result<storage::Repaired> repair_installation(const Config& config,
                                                            const storage::Progress& progress);
[[nodiscard]] Json to_json(const storage::Repaired& repaired);

// Copies the database to a new file, beside a running service or without one, and checks the copy
// (storage/backup.h).
[[nodiscard]] Result<storage::Backup> back_up_installation(const Config& config, const Clock& clock,
                                                           const std::string& to,
                                                           const storage::Progress& progress);
[[nodiscard]] Json to_json(const storage::Backup& backup);
// Puts a backup in the place of the database, while no service runs.
[[nodiscard]] Status put_back_installation(const Config& config, const Clock& clock,
                                           const std::string& from,
                                           const storage::Progress& progress);

// What the database has lost of the signed log; see storage::measure_loss.
struct Restoration {
  storage::Loss loss;
  bool needed = false;  // the service refuses to start because of the loss
  bool done = false;    // the log was restored, now or earlier; nothing was recorded since
};
[[nodiscard]] Json to_json(const Restoration& restoration);
// Measures the loss. With `accept_loss`, and if a restore is needed, continues the log under the
// new origin that `config` names (storage::restore_sqlite). To finish an interrupted restore, call
// this function again with `accept_loss`.
[[nodiscard]] Result<Restoration> restore_installation(const Config& config, const Clock& clock,
                                                       bool accept_loss);

}  // namespace assay::server
