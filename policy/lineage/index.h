// SPDX-License-Identifier: Apache-2.0
// An index over the statements of a lineage, made once and shared by all judgements. Digests and
// statements are numbers here.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/lineage.h"
#include "schemas/decision.h"

namespace assay::policy {

// All lists of all statements lie in three, because a list of its own for each of ten thousand
// small ones costs more than all that is done with it. It moves, but is not copied: the spans
// borrow.
struct LineageIndex {
  // One input of one statement.
  struct Input {
    const LineageInput* input;
    std::span<const std::size_t> digests;  // the strong ones
  };
  struct Statement {
    const LineageStatement* statement;
    std::span<const std::size_t> subjects;  // strong digests
    std::span<const Input> inputs;          // only of statements that make their subjects
    bool makes = false;
  };
  struct About {
    std::span<const std::size_t> statements;  // in log order
    std::span<const std::size_t> manifests;
  };

  LineageIndex() = default;
  LineageIndex(LineageIndex&&) noexcept = default;
  LineageIndex& operator=(LineageIndex&&) noexcept = default;

  std::vector<std::string_view> digests;  // borrowed from the lineage
  std::unordered_map<std::string_view, std::size_t> number_of;
  std::vector<Statement> statements;  // in log order
  std::vector<About> about;           // of each digest
  std::size_t start = 0;              // digest
  std::vector<std::size_t> cut;       // digests of LineageRest::cut, ascending
  EvidenceIds evidence;               // of all statements
  // Times at which signatures or evidence were logged, keys were revoked, or after which a
  // statement with evidence was made; ascending, distinct.
  std::vector<Timestamp> changes;
  std::vector<Timestamp> attested;  // times at which evidence was logged; ascending, distinct

  // Returns the names that statement `s` gives to digest `d`.
  [[nodiscard]] const std::vector<std::string>& names(std::size_t s, std::size_t d) const;

  // What the spans borrow from.
  std::vector<std::size_t> said{};    // digests of statements
  std::vector<Input> inputs{};        // of statements
  std::vector<std::size_t> saying{};  // statements about digests
};

[[nodiscard]] LineageIndex index_lineage(const Lineage& lineage);

[[nodiscard]] bool is_tree(std::string_view digest);

// Returns whether the statement is a manifest whose digests can be one thing: exactly one of them
// is the root of a tree, and there are others (docs/adr/0014).
[[nodiscard]] bool could_join(const LineageIndex& index, std::size_t s);

// Returns for each digest which thing it is, as the number of a digest of that thing. The manifests
// with `joins`, all of which could_join(), join their digests. A digest that they name with two
// trees is one thing with neither, and one that disagrees with another of the same algorithm is
// joined with nothing.
[[nodiscard]] std::vector<std::size_t> joined_things(const LineageIndex& index,
                                                     const std::vector<bool>& joins);

}  // namespace assay::policy
