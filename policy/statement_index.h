// SPDX-License-Identifier: Apache-2.0
// An index of the statements about an artifact: their order, their kinds, and which signatures are
// judged alike. The index does not depend on time or on policies. It is made once and shared by all
// evaluations of the same facts, so that thousands of statements do not slow down each decision.
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

// Stands for the name of an artifact or a statement that has none. It is no model name, so only
// roles for every name ("*") cover it.
inline constexpr std::string_view kUnknownName = "?";

// The index. It borrows from the statements that it was made of, and keeps these statements alive.
struct StatementIndex {
  // Statements with the same predicate type and stage.
  struct Group {
    std::vector<std::size_t> members;  // positions in `in_order`, ascending
    EvidenceIds evidence;              // ids of the members
  };
  // One signature that represents a set of signatures of the same key on statements of the same
  // group. All signatures of the set were logged before the key's validity, or all within it, or
  // all after it. For all their statements, or for none, the key's roles cover the names that the
  // statement itself gives to the artifact. check_grant() (schemas/trust.h) therefore judges all
  // signatures of the set alike.
  struct Alike {
    const StatementFact* statement;
    const SignerFact* signer;
    bool covers_names;  // true: a role for each of StatementFact::names; false without names
  };
  struct Signature {
    std::size_t alike;  // position in `alike`
    Timestamp signed_at;
    const CertificateUse* certificate;  // of a signature by certificate; null otherwise
  };

  std::shared_ptr<const std::vector<StatementFact>> source;
  std::vector<const StatementFact*> in_order;  // in log order
  std::map<std::pair<std::string_view, std::string_view>, Group> groups;
  std::vector<Alike> alike;
  std::vector<Signature> signatures;  // of all statements, in the order of `in_order`
  std::vector<std::size_t> ends;  // for each statement, the end of its signatures in `signatures`

  // Returns nullptr when no statement has this predicate type and stage.
  [[nodiscard]] const Group* group(std::string_view predicate_type, std::string_view stage) const;
};

[[nodiscard]] std::shared_ptr<const StatementIndex> index_statements(
    const SharedList<StatementFact>& statements);

// Returns facts.index when it is an index of facts.statements, else a new index of them.
[[nodiscard]] std::shared_ptr<const StatementIndex> index_of(const Facts& facts);

// Returns true when `a` precedes `b` in the log. Equal log indexes are ordered by id; no real log
// has equal indexes.
[[nodiscard]] bool is_earlier(const StatementFact& a, const StatementFact& b);

}  // namespace assay::policy
