// SPDX-License-Identifier: Apache-2.0
// Parts of cases. A case (decisions/case_file.h) is everything that the evaluation of a decision
// read. A case is stored as documents (parts) that name each other by digest, so that parts common
// to two cases are stored once. The facts about an artifact (policy/facts.h) have one part for each
// statement and one part with the signers' keys. A tree of lists names the parts of the statements
// in log order.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policy/case_documents.h"
#include "policy/facts.h"
#include "storage/store.h"

namespace assay::server {

// One document of a case.
struct Part {
  DocumentId id;
  std::string bytes;  // canonical JSON
};

// Lists that hold the same part share it.
using SharedPart = std::shared_ptr<const Part>;

// Makes a part from `json`.
[[nodiscard]] Result<Part> make_part(const Json& json);
[[nodiscard]] Result<SharedPart> make_shared_part(const Json& json);
// Makes a part from its bytes, which must be canonical JSON.
[[nodiscard]] SharedPart part_of(std::string bytes);
// Stores a part.
[[nodiscard]] Status put_part(storage::Transaction& transaction, const Part& part);
// Loads a part. Errors: data-loss when the part is missing, damaged or not JSON.
[[nodiscard]] Result<Json> load_part(storage::Snapshot& snapshot, const DocumentId& id);
// Returns load_part() of the snapshot, which must outlive the result.
[[nodiscard]] policy::ReadPart reader_of(storage::Snapshot& snapshot);

// Takes what the trust store says of the signers out of the document of a statement, into `keys`,
// by key id: only their ids and the times of their signatures stay. policy::join_signers() undoes
// it.
void part_signers(Json& statement, Json& keys);

// A list of parts: a tree of documents {"level", "parts"}, each naming at most kFanOut others.
// Appending an item changes one document per level.
class PartList {
 public:
  static constexpr std::size_t kFanOut = policy::kCaseFanOut;
  static constexpr std::size_t kMaxLevels = policy::kCaseLevels;

  // Builds the list of `items`.
  [[nodiscard]] static Result<PartList> of(std::vector<SharedPart> items);
  // Returns this list with `more` items at the end. Documents of the tree that do not change are
  // shared.
  [[nodiscard]] Result<PartList> with(std::vector<SharedPart> more) const;
  [[nodiscard]] const DocumentId& root() const { return levels_.back().front()->id; }
  // Returns the bytes of all parts together, those of the tree included.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Stores the documents that are not stored yet. If a document of the tree is stored already, the
  // documents below it are not checked, because they were stored in the same write as that
  // document.
  [[nodiscard]] Status put(storage::Transaction& transaction) const;

 private:
  [[nodiscard]] Status put_node(storage::Transaction& transaction, std::size_t level,
                                std::size_t index) const;

  // The items at index 0, then each level of the tree.
  std::vector<std::vector<SharedPart>> levels_;
  std::size_t bytes_ = 0;  // of all of these
};

using policy::Envelopes;

// The facts about an artifact that come from signed statements, as parts that decisions share.
struct ArtifactFacts {
  policy::Facts facts;  // artifact, manifests, statements without predicates, placements
  Envelopes envelopes;  // of facts.statements
  PartList statements;  // statements, manifests and placements
  Part keys;
};

// Returns `facts` as parts. The caller must pass facts without node, reports, name and predicates.
[[nodiscard]] Result<ArtifactFacts> share(policy::Facts facts, Envelopes envelopes);
// Returns what share() would return for `known` and `newer` together. The caller must ensure that
// everything in `newer` was logged after everything in `known`, and that the keys in `known` have
// not changed in the trust store.
[[nodiscard]] Result<ArtifactFacts> extend(const ArtifactFacts& known, const policy::Facts& newer,
                                           const Envelopes& envelopes);

}  // namespace assay::server
