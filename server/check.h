// SPDX-License-Identifier: Apache-2.0
// `assayd check`, `assayd repair` and `assayd restore`: an installation as it lies on disk.
// docs/recovery.md says which is for what.
#pragma once

#include <vector>

#include "schemas/core/clock.h"
#include "server/config.h"
#include "server/service/upkeep/check_store.h"
#include "storage/inspect.h"

namespace assay::server {

// Everything that is wrong with the store of `config`, beside a running service or without one.
// Changes nothing. `deep`: see storage::Inspection::find.
[[nodiscard]] Result<std::vector<Finding>> check_installation(const Config& config,
                                                              const Clock& clock, bool deep,
                                                              const storage::Progress& progress);

// Makes indexes and rows again from the log and its documents, while no service runs; drops damaged
// rows that those do not hold. unavailable while a service runs.
[[nodiscard]] Result<storage::Repaired> repair_installation(const Config& config,
                                                            const storage::Progress& progress);
[[nodiscard]] Json to_json(const storage::Repaired& repaired);

// What the database has lost of what was signed; see storage::measure_loss.
struct Restoration {
  storage::Loss loss;
  bool needed = false;  // the service refuses to start for it
  bool done = false;    // now, or by a restore that nothing came after
};
[[nodiscard]] Json to_json(const Restoration& restoration);
// Tells the loss; with `accept_loss`, when there is one, goes on under the new origin that `config`
// names (storage::restore_sqlite), or finishes a restore that was interrupted.
[[nodiscard]] Result<Restoration> restore_installation(const Config& config, const Clock& clock,
                                                       bool accept_loss);

}  // namespace assay::server
