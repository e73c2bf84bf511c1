// SPDX-License-Identifier: Apache-2.0
// Tables of appraisals, high-water marks (the highest numbers of collateral seen), evidence, and
// registrations (docs/glossary.md). NodeReads and NodeWrites (storage/node_store.h) describe the
// functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<std::vector<Appraisal>> load_appraisals(Connection& connection);
[[nodiscard]] Status put_appraisal(Connection& connection, const Appraisal& appraisal);
[[nodiscard]] Result<std::vector<ReferenceTag>> load_reference_tags(Connection& connection);
[[nodiscard]] Status put_reference_tag(Connection& connection, const ReferenceTag& tag);

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
[[nodiscard]] Status put_evidence(Connection& connection, const EvidenceRow& row);
[[nodiscard]] Status forget_evidence(Connection& connection, const std::string& subject);

[[nodiscard]] Result<std::vector<Registration>> load_registrations(Connection& connection);
[[nodiscard]] Status put_registration(Connection& connection, const Registration& registration);
[[nodiscard]] Status remove_registration(Connection& connection, const std::string& id);

// Writes the columns by which rows of appraisals, reference values and registrations are found
// again from their bodies, when one differs. A start holds the bodies against the chain of trust.
// Adds the numbers of rows to `made`, by table. The caller must have dropped the triggers of the
// tables.
[[nodiscard]] Status remake_trust_columns(Connection& connection,
                                          std::map<std::string, std::uint64_t>& made);

}  // namespace assay::storage::sqlite
