// SPDX-License-Identifier: Apache-2.0
// A lineage (policy/lineage.h) as parts of cases: one part for each statement, one with the
// signers' keys, a tree of lists that names the statements, and a head that names all of these. The
// id of the head is the address of the lineage. Lineages and decisions share equal parts.
#pragma once

#include <memory>

#include "policy/lineage.h"
#include "server/service/facts/case_parts.h"

namespace assay::server {

struct LineageFacts {
  std::shared_ptr<const policy::Lineage> lineage;
  PartList statements;
  Part keys;
  Part head;  // {"start", "reached", "statements", "keys"}
};

// Makes the parts of a lineage.
[[nodiscard]] Result<LineageFacts> share_lineage(std::shared_ptr<const policy::Lineage> lineage);
// Stores those parts that are not stored yet.
[[nodiscard]] Status put_lineage(storage::Transaction& transaction, const LineageFacts& facts);
// Returns the document of the lineage whose head is `head`, as policy::to_json() writes it. Errors:
// data-loss when a part is missing or damaged.
[[nodiscard]] Result<Json> load_lineage(storage::Snapshot& snapshot, const DocumentId& head);

}  // namespace assay::server
