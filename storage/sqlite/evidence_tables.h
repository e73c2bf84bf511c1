// SPDX-License-Identifier: Apache-2.0
// Tables of evidence and of high-water marks: the highest numbers of collateral seen
// (docs/glossary.md). NodeReads and NodeWrites (storage/node_store.h) describe the functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<std::uint64_t> load_high_water(Connection& connection,
                                                    const std::string& name);
[[nodiscard]] Result<DocumentId> load_high_water_collateral(Connection& connection,
                                                            const std::string& name);
// Checks the row of a mark. Errors: not-found, where load_high_water() says 0; data-loss.
[[nodiscard]] Status check_mark(Connection& connection, const std::string& name);
[[nodiscard]] Result<std::vector<std::string>> load_high_waters(Connection& connection,
                                                                const std::string& after,
                                                                std::size_t limit);
[[nodiscard]] Status raise_high_water(Connection& connection, const std::string& name,
                                      std::uint64_t value,
                                      const std::optional<DocumentId>& collateral);

// Returns a counter that rises whenever stored evidence becomes stale, because an appraisal was put
// or a high-water mark was raised.
[[nodiscard]] Result<std::uint64_t> generation(Connection& connection);
[[nodiscard]] Status raise_generation(Connection& connection);
// Writes the seal of the row that holds this counter (seals.h). The caller must do so once, when
// the table of the counter was just made.
[[nodiscard]] Status seal_generation(Connection& connection);

[[nodiscard]] Result<EvidenceRow> load_evidence(Connection& connection, const std::string& subject);
[[nodiscard]] Result<std::vector<EvidenceRow>> load_stage_evidence(Connection& connection,
                                                                   const StatementId& statement);
[[nodiscard]] Result<std::vector<EvidenceRow>> load_stale_evidence(Connection& connection,
                                                                   std::size_t limit);
[[nodiscard]] Result<std::vector<EvidenceRow>> load_due_evidence(Connection& connection,
                                                                 Timestamp now, std::size_t limit);
// Puts the numbers of rows of evidence for statements into the record map. Used only by a repair.
[[nodiscard]] Status collect_evidence_counts(Connection& connection);
[[nodiscard]] Status put_evidence(Connection& connection, const EvidenceRow& row);
[[nodiscard]] Status forget_evidence(Connection& connection, const std::string& subject);

}  // namespace assay::storage::sqlite
