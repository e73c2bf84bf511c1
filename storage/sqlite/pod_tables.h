// SPDX-License-Identifier: Apache-2.0
// Admitted pods and persistent volume claims. See PodReads and PodWrites for what the functions
// mean.
#pragma once

#include <string>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<PodRow> load_pod(Connection& connection, const std::string& cluster,
                                      const std::string& uid);
// `now` decides which pods are forgotten.
[[nodiscard]] Status put_pod(Connection& connection, const PodRow& row, Timestamp now);
[[nodiscard]] Status remove_pod(Connection& connection, const std::string& cluster,
                                const std::string& uid);

[[nodiscard]] Result<ClaimRow> load_claim(Connection& connection, const std::string& cluster,
                                          const std::string& name_space, const std::string& name);
// `now` is when it was said, and decides which claims are forgotten.
[[nodiscard]] Status put_claim(Connection& connection, const ClaimRow& row, Timestamp now);
[[nodiscard]] Status remove_claim(Connection& connection, const std::string& cluster,
                                  const std::string& name_space, const std::string& name,
                                  const std::string& uid);

}  // namespace assay::storage::sqlite
