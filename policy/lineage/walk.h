// SPDX-License-Identifier: Apache-2.0
// The lineage of an artifact as one policy believes it: only statements and manifests whose signers
// count, and only inputs of the roles that the condition follows.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "policy/lineage/index.h"
#include "policy/lineage/patience.h"
#include "policy/locations.h"
#include "policy/signers.h"
#include "schemas/lineage_condition.h"

namespace assay::policy {

// An input that was followed, of a statement that counts.
struct WalkedInput {
  const LineageInput* input;
  std::size_t child;                     // node that was made
  std::span<const std::size_t> digests;  // the strong ones
  std::vector<std::size_t> nodes;        // that its digests lead to, distinct; empty: to none
};

// A statement that counts, about one node.
struct WalkedStatement {
  const LineageIndex::Statement* statement;
  std::vector<JudgedSigner> signers;
  std::vector<WalkedInput> inputs;
  bool makes = false;  // the condition takes it for what made the node
};

// One thing under all its digests that counted manifests join.
struct WalkedNode {
  std::vector<std::size_t> digests;
  std::set<std::string_view> names;         // by which its makers must be trusted
  std::vector<WalkedStatement> statements;  // that count, in log order
  std::set<std::string_view> called;        // names that counted inputs give it
  // Digests that counted manifests name with one of `digests`, at any distance. Not all of them are
  // joined. They are compared with deny lists only.
  std::set<std::string_view> beside;
  std::vector<std::size_t> parents;  // nodes, ascending, distinct
  bool unnamed = false;              // an input that leads here has no name
  bool undecided = false;  // a statement or manifest would count, but for the time of its signature

  // Returns whether a counted statement of what made the node says that something went into it.
  [[nodiscard]] bool has_inputs() const;
  [[nodiscard]] bool is_collected() const;  // there is a counted statement of the stage collect
};

// The result of the walk.
struct LineageWalk {
  std::map<std::size_t, WalkedNode> nodes;  // those that were reached, by the number of their set
  std::size_t start = 0;                    // node
  // A signature that would count was logged after `now`: more may belong to the lineage.
  bool undecided = false;
};

// Whether a withdrawal takes a statement or manifest out of the walk.
enum class Withdrawn : std::uint8_t { kLeftOut, kAsBefore };

// Walks up from the start. `names` are the names of the start that the policy believes, `demands`
// its manifest conditions (policy/locations.h).
// What made a node are statements for which surely_makes_subjects() holds, or of a stage that the
// condition names in `stages` or `edges`.
// A signature on a statement about a node counts when check_grant() (schemas/trust.h) passes under
// one of the node's names, and a role of the key covers every name that the statement itself gives
// to the node. The names of an ancestor are those that counted inputs give it; when one of these
// inputs has no name, also those in its counted manifests. Without names, only roles for every name
// count.
// A manifest counts when those of its signers meet the demands who may publish under its own name
// and under each name by which counted inputs call one of its digests. It joins its digests when
// these signers may besides publish under each name that counted statements give to one of them,
// and, if the start is among them, under a name of the start. A manifest with two assay-tree-v1
// digests joins nothing. A digest that would be joined with two of them, or that disagrees with
// another of the same algorithm, is joined with none. Without demands no manifest counts.
// With Withdrawn::kAsBefore the walk is the one from before all withdrawals: what signers once said
// went in, for deny lists alone. When `patience` ends, the walk is worth nothing.
[[nodiscard]] LineageWalk walk_lineage(const Lineage& lineage, const LineageCondition& condition,
                                       const PublisherDemands& demands, const Names& names,
                                       Timestamp now, Patience& patience,
                                       Withdrawn withdrawn = Withdrawn::kLeftOut);

}  // namespace assay::policy
