// SPDX-License-Identifier: Apache-2.0
// Tables of keys, principals and epochs. These tables are read and verified when the store opens
// (governance_tables.h). The class Governance decides what may be written (storage/governance.h).
#pragma once

#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<std::vector<TrustedKey>> load_keys(Connection& connection);
[[nodiscard]] Status put_key(Connection& connection, const TrustedKey& key);

[[nodiscard]] Result<std::vector<Principal>> load_principals(Connection& connection);
[[nodiscard]] Status put_principal(Connection& connection, const Principal& principal);
[[nodiscard]] Status remove_principal(Connection& connection, const std::string& name);

[[nodiscard]] Result<std::vector<Withdrawn>> load_withdrawals(Connection& connection);
[[nodiscard]] Status put_withdrawal(Connection& connection, const Withdrawn& withdrawn);

[[nodiscard]] Result<Epochs> load_epochs(Connection& connection);
[[nodiscard]] Status set_epochs(Connection& connection, const Epochs& epochs);

}  // namespace assay::storage::sqlite
