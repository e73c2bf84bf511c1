// SPDX-License-Identifier: Apache-2.0
// Judges the edge rules of a lineage condition: who signed what made each node, and on what
// hardware. Internal to policy/lineage.
#pragma once

#include <functional>
#include <set>
#include <span>

#include "policy/lineage/shown.h"
#include "policy/lineage/walk.h"
#include "schemas/decision.h"

namespace assay::policy {

struct JudgedEdges {
  bool failed = false;         // an edge has too few signers
  bool undecided = false;      // signers or evidence of a node cannot be judged yet
  std::set<Reason> refused{};  // why evidence is not as demanded
  Shown unsigned_nodes{};      // edges with too few signers
  Shown unattested{};          // statements whose evidence is not as demanded
};

// Judges each rule on each edge into a node that counted statements which the rule is about name: a
// thing that went in needs as many signers of statements that name it. Statements of a node that
// name nothing are one edge. `name_of` returns what an explanation shows of a node. When `patience`
// ends, the result is worth nothing.
[[nodiscard]] JudgedEdges judge_edges(std::span<const LineageEdgeRule> rules,
                                      const LineageWalk& walk, Patience& patience,
                                      const std::function<Json(const WalkedNode&)>& name_of,
                                      Timestamp now);

}  // namespace assay::policy
