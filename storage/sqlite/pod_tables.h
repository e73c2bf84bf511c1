// SPDX-License-Identifier: Apache-2.0
// Tables of admitted pods and persistent volume claims. PodReads and PodWrites
// (storage/pod_store.h) describe the functions.
#pragma once

#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<PodRow> load_pod(Connection& connection, const std::string& cluster,
                                      const std::string& uid);
[[nodiscard]] Result<std::vector<PodRow>> load_pods(Connection& connection, const PodKey& after,
                                                    std::size_t limit);
// Stores a pod. `now` decides which old pods are deleted.
[[nodiscard]] Status put_pod(Connection& connection, const PodRow& row, Timestamp now);
[[nodiscard]] Status remove_pod(Connection& connection, const std::string& cluster,
                                const std::string& uid);

[[nodiscard]] Result<ClaimRow> load_claim(Connection& connection, const std::string& cluster,
                                          const std::string& name_space, const std::string& name);
// Stores a claim. `now` is the time at which the claim is reported, and decides which old claims
// are deleted.
[[nodiscard]] Status put_claim(Connection& connection, const ClaimRow& row, Timestamp now);
[[nodiscard]] Status remove_claim(Connection& connection, const std::string& cluster,
                                  const std::string& name_space, const std::string& name,
                                  const std::string& uid);

}  // namespace assay::storage::sqlite
