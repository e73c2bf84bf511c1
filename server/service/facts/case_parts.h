// SPDX-License-Identifier: Apache-2.0
// Parts of cases: documents that name each other by digest, so that what two cases have in common
// is stored once. The facts of an artifact are one part for each statement, a tree of lists of
// them in the order of the log, and one part with the keys that signed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policy/facts.h"
#include "storage/store.h"

namespace assay::server {

struct Part {
  DocumentId id;
  std::string bytes;  // canonical JSON
};

[[nodiscard]] Result<Part> make_part(const Json& json);
[[nodiscard]] Status put_part(storage::Transaction& transaction, const Part& part);
// data-loss when it is missing, damaged or no JSON.
[[nodiscard]] Result<Json> load_part(storage::Snapshot& snapshot, const DocumentId& id);

// A list of parts: a tree of documents {"level", "parts"} that name at most kFanOut each. One more
// item at the end changes one document a level.
class PartList {
 public:
  static constexpr std::size_t kFanOut = 32;
  static constexpr std::size_t kMaxLevels = 6;

  [[nodiscard]] static Result<PartList> of(std::vector<Part> items);
  // With more items at the end. What does not change is taken over.
  [[nodiscard]] Result<PartList> with(std::vector<Part> more) const;
  [[nodiscard]] const DocumentId& root() const { return levels_.back().front().id; }
  [[nodiscard]] std::size_t bytes() const;
  // Stores what is not stored yet. A document of the tree is stored behind those that it names, in
  // the same write, so below one that is there nothing is looked at.
  [[nodiscard]] Status put(storage::Transaction& transaction) const;

 private:
  [[nodiscard]] Status put_node(storage::Transaction& transaction, std::size_t level,
                                std::size_t index) const;

  std::vector<std::vector<Part>> levels_;  // the items first
};

// The items of a stored list, in order. data-loss when something of it is missing or damaged.
[[nodiscard]] Result<std::vector<Json>> load_list(storage::Snapshot& snapshot,
                                                  const DocumentId& root);

// Where the predicates of statements are: a stored envelope of each.
using Envelopes = std::map<StatementId, DocumentId>;

// What is known of an artifact from what was signed, in a form that decisions share.
struct ArtifactFacts {
  policy::Facts facts;  // artifact, manifests, statements without predicates, placements
  Envelopes envelopes;  // of `statements`
  PartList statements;  // and manifests and placements
  Part keys;
};

// `facts` without node, reports, name and predicates.
[[nodiscard]] Result<ArtifactFacts> share(policy::Facts facts, Envelopes envelopes);
// What share() gives of both together: `newer` was logged after all of `known`, and the trust store
// says the same of the keys in it.
[[nodiscard]] Result<ArtifactFacts> extend(const ArtifactFacts& known, const policy::Facts& newer,
                                           const Envelopes& envelopes);

// The members of the facts document that `statements` and `keys` stand for, and the envelopes.
struct LoadedFacts {
  Json members;  // "manifests", "statements", "placements"
  Envelopes envelopes;
};
[[nodiscard]] Result<LoadedFacts> load_facts(storage::Snapshot& snapshot,
                                             const DocumentId& statements, const DocumentId& keys);

}  // namespace assay::server
