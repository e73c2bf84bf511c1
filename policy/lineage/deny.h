// SPDX-License-Identifier: Apache-2.0
// Judges the deny list of a lineage condition. Internal to policy/lineage.
#pragma once

#include <functional>

#include "policy/lineage/shown.h"
#include "policy/lineage/walk.h"
#include "schemas/lineage_condition.h"

namespace assay::policy {

struct JudgedDenied {
  Shown denied{};      // what the list names
  Shown unreadable{};  // names of which nobody can say whether the list names them
};

// Compares everything in a lineage with the list: digests and names, whoever gave them, and keys
// and identities that signed a manifest or a making statement of a node, counted or not. Names are
// compared as they are written and in one spelling (schemas/name_form.h). `name_of` returns what an
// explanation shows of a node. When `patience` ends, the result is worth nothing.
[[nodiscard]] JudgedDenied judge_denied(const LineageDeny& deny, const Lineage& lineage,
                                        const LineageWalk& walk, Patience& patience,
                                        const std::function<Json(const WalkedNode&)>& name_of);

}  // namespace assay::policy
