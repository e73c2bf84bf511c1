// SPDX-License-Identifier: Apache-2.0
// Withdraws statements (schemas/withdrawal.h): manifests, statements, placements and releases.
#pragma once

#include <string>
#include <vector>

#include "schemas/withdrawal.h"
#include "server/service/services.h"

namespace assay::server {

// Limit on the withdrawals that one identity signs by itself. All withdrawals are kept in memory.
// Two operators can withdraw more, by a change of trust.
inline constexpr std::size_t kMaxWithdrawalsPerSigner = 1024;

struct WithdrawalAccepted {
  Withdrawn withdrawn;
  bool created;  // false: this very envelope was accepted before
  Json receipt;  // log receipt (documents/receipt.h); null unless created
};

// Accepts a signed withdrawal. It must be signed by an identity whose signature came with the first
// envelope of the statement, and by a key of the identity that may sign such a statement now.
// Whoever added a signature to the statement later cannot withdraw it: anybody may add a signature
// to what somebody else signed. Errors: not-found when there is no such statement;
// predicate-type-unknown for a policy, which is taken out of force instead; role-not-granted and
// the other errors of check_grant() when no signer of the statement withdraws it; invalid-parameter
// for a time in the future; conflict when the statement is withdrawn already;
// signer-limit-exceeded.
[[nodiscard]] Result<WithdrawalAccepted> accept_withdrawal(Services& services, ByteView envelope,
                                                           const Principal& actor);

// Records a withdrawal by the identities `by`. The caller must raise the revocation epoch and
// append a record of the chain of trust in the same write. Errors: not-found;
// predicate-type-unknown; invalid-parameter; conflict, as above.
[[nodiscard]] Result<Withdrawn> put_withdrawal(storage::Transaction& transaction,
                                               const Withdrawal& withdrawal,
                                               const std::vector<std::string>& by,
                                               bool by_operators);

}  // namespace assay::server
