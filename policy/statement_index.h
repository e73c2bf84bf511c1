// SPDX-License-Identifier: Apache-2.0
// What neither time nor a policy changes about the statements of an artifact: their order, which
// are of one kind, and which signatures are judged alike. Found out once, shared by all evaluations
// of the same facts: thousands of statements must not make each decision long.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/facts.h"
#include "schemas/decision.h"

namespace assay::policy {

// Borrows from the statements that it was made of, and keeps them.
struct StatementIndex {
  // Statements with one predicate type and stage.
  struct Group {
    std::vector<std::size_t> members;  // positions in `in_order`, ascending
    EvidenceIds evidence;              // their ids
  };
  // Signatures of one key about statements of one group, all before, in or after its validity: the
  // trust store says the same of all of them. One stands for all.
  struct Alike {
    const StatementFact* statement;
    const SignerFact* signer;
  };
  struct Signature {
    std::size_t alike;  // position in `alike`
    Timestamp signed_at;
  };

  std::shared_ptr<const std::vector<StatementFact>> source;
  std::vector<const StatementFact*> in_order;  // of the log
  std::map<std::pair<std::string_view, std::string_view>, Group> groups;
  std::vector<Alike> alike;
  std::vector<Signature> signatures;  // of the statements in order
  std::vector<std::size_t> ends;      // in `signatures`, of each statement

  // nullptr when there is no such statement.
  [[nodiscard]] const Group* group(std::string_view predicate_type, std::string_view stage) const;
};

[[nodiscard]] std::shared_ptr<const StatementIndex> index_statements(
    const SharedList<StatementFact>& statements);

// facts.index when it was made of facts.statements, else a new one.
[[nodiscard]] std::shared_ptr<const StatementIndex> index_of(const Facts& facts);

// Order of the log; ids only matter for facts that no log could hold.
[[nodiscard]] bool is_earlier(const StatementFact& a, const StatementFact& b);

}  // namespace assay::policy
