// SPDX-License-Identifier: Apache-2.0
// A lineage (policy/lineage.h) as parts of cases: one part for each statement, more for what it
// does not hold (policy::LineageRest), one with the signers' keys, a tree of lists that names the
// statements, and a head that names all of these. The id of the head is the address of the lineage.
// Lineages and decisions share equal parts.
#pragma once

#include <functional>
#include <memory>

#include "policy/lineage.h"
#include "server/service/facts/case_parts.h"
#include "server/service/lineage/kept_results.h"

namespace assay::server {

struct LineageFacts {
  std::shared_ptr<const policy::Lineage> lineage;
  PartList statements;
  Part keys;
  Part head;                                   // {"start", "reached", "statements", "keys"}
  std::shared_ptr<const KeptResults> results;  // of `lineage`; never null
};

// Returns where the part of a statement is kept, which share_lineage() uses, and fills when it is
// empty. Null: nowhere.
using FindPart = std::function<SharedPart*(const policy::LineageStatement&)>;
// Makes the parts of a lineage.
[[nodiscard]] Result<LineageFacts> share_lineage(
    std::shared_ptr<const policy::Lineage> lineage,
    const FindPart& kept = [](const policy::LineageStatement&) { return nullptr; });
// Stores those parts that are not stored yet.
[[nodiscard]] Status put_lineage(storage::Transaction& transaction, const LineageFacts& facts);

}  // namespace assay::server
