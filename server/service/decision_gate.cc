// SPDX-License-Identifier: Apache-2.0
#include "server/service/decision_gate.h"

namespace assay::server {

DecisionGate& decision_gate() {
  static DecisionGate gate;
  return gate;
}

Result<storage::LogState> write_change(Services& services,
                                       const std::function<Status(storage::Transaction&)>& work) {
  const DecisionGate::Pass pass = decision_gate().change();
  return services.store.write(work);
}

}  // namespace assay::server
