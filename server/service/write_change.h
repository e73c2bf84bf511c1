// SPDX-License-Identifier: Apache-2.0
// The write of a change of what decisions rest on.
#pragma once

#include <functional>

#include "server/service/services.h"

namespace assay::server {

// Writes a change of what decisions rest on: statements, trust, policies. Waits while a decision
// that such changes made void has its last attempt (decision_gate.h). Errors: those of
// storage::Store::write().
[[nodiscard]] inline Result<storage::LogState> write_change(
    Services& services, const std::function<Status(storage::Transaction&)>& work) {
  const DecisionGate::Pass pass = services.decision_gate.change();
  return services.store.write(work);
}

}  // namespace assay::server
