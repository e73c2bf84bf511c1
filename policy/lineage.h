// SPDX-License-Identifier: Apache-2.0
// The lineage of an artifact: the signed statements that say what it was made from, and what that
// was made from, as plain values. Which of these statements count is not said here: each policy
// judges their signers itself (policy/lineage_condition.h). docs/lineage.md explains the terms.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/evaluate.h"
#include "schemas/core/json.h"

namespace assay::policy {

// One thing that went into the subjects of a statement.
struct LineageInput {
  std::string role;                  // dataset, base-model, adapter, code, config; kDependencyRole
  std::string name;                  // as the statement calls it; empty when it has no name
  std::vector<std::string> digests;  // "<algorithm>:<value>", ascending; may be empty
  std::vector<std::string> also{};   // further names and places; compared with deny lists only
  bool operator==(const LineageInput&) const = default;
};

// The role of what SLSA provenance calls a resolved dependency. Such a thing may have been
// anything, so it is followed whatever roles a condition names.
inline constexpr std::string_view kDependencyRole = "dependency";

// The predicate type of SLSA provenance.
inline constexpr std::string_view kSlsaProvenance = "https://slsa.dev/provenance/v1";

struct LineageSubject {
  std::string digest;
  std::vector<std::string> names;  // that the statement gives it, ascending; "" when it has none
  bool operator==(const LineageSubject&) const = default;
};

// A statement, and what a lineage reads of it.
struct LineageStatement {
  StatementFact fact;  // without predicate and names
  // A manifest: its subjects are one artifact under several digests.
  bool manifest = false;
  std::vector<LineageSubject> subjects;  // ascending by digest
  std::vector<LineageInput> inputs;      // as in the statement
  bool unread = false;                   // what went in could not be read, so it may be anything
  // The member `license` of a lifecycle statement's parameters. Empty: a value that is no text of
  // at most kMaxSpdxBytes (schemas/spdx.h).
  std::optional<std::string> licence{};
  // The digests, weak ones too, of each subject that has several; each list ascending. A manifest
  // has one subject, and none here.
  std::vector<std::vector<std::string>> together{};
};

// Returns whether the statement may say how its subjects were made. SLSA provenance does, and
// lifecycle statements do, except of stages that describe (StageEffect in schemas/stages.h).
[[nodiscard]] bool makes_subjects(const LineageStatement& statement);
// Returns whether the statement surely says how its subjects were made: SLSA provenance, and
// lifecycle statements of stages that begin or make. What stages with names of their own do is for
// each policy to say.
[[nodiscard]] bool surely_makes_subjects(const LineageStatement& statement);

// Returns whether nobody can make two things with one such digest. Others, such as those of SHA-1,
// name nothing: they are only compared with the lists of policies.
[[nodiscard]] bool is_strong_digest(std::string_view digest);

// Limits on one lineage. One that is reached is named in Lineage::reached().
struct LineageLimits {
  std::size_t depth = 64;  // steps from the artifact
  std::size_t digests = 20'000;
  std::size_t statements = 20'000;
  // Edges of statements that have more than 64: each subject with each digest that went in. One
  // statement of 700 subjects and 1,024 inputs has as many as a long lineage, so the other limits
  // do not bound them.
  std::size_t edges = 400'000;
};

// What the statements of one key that were left out of a lineage call one digest. They cannot count
// under any policy, and are kept for deny lists only.
struct LineageAside {
  static constexpr std::size_t kMaxNames = 32;

  std::string digest;
  KeyId key;
  std::string identity;            // holder of the key
  std::vector<std::string> names;  // the first kMaxNames in log order; ascending, distinct
  std::uint64_t statements = 0;    // that were left out
  bool makes = false;              // one of them is a manifest, or may say how the thing was made
  bool operator==(const LineageAside&) const = default;
};

// What a lineage does not hold.
struct LineageRest {
  std::vector<LineageAside> aside;  // ascending by digest and key
  // Digests at which the search ended, although more may lead up from them; ascending, distinct.
  std::vector<std::string> cut;
};

struct LineageIndex;

// The statements about an artifact, about all that went into it, and so on. Immutable; shared.
class Lineage {
 public:
  using Statements = std::vector<std::shared_ptr<const LineageStatement>>;

  // Makes the lineage of `start`, a digest, from statements in any order, each once. `reached`
  // names the limits ("depth", "digests", "edges", "statements") at which the search for them
  // ended, and `rest` says what is missing; without LineageRest::cut it may be anything.
  [[nodiscard]] static std::shared_ptr<const Lineage> make(std::string start, Statements statements,
                                                           std::vector<std::string> reached = {},
                                                           LineageRest rest = {});
  Lineage(const Lineage&) = delete;
  Lineage& operator=(const Lineage&) = delete;
  ~Lineage();

  [[nodiscard]] const std::string& start() const { return start_; }
  [[nodiscard]] const Statements& statements() const { return statements_; }  // in log order
  [[nodiscard]] const std::vector<std::string>& reached() const { return reached_; }  // ascending
  [[nodiscard]] const LineageRest& rest() const { return rest_; }
  // Returns whether a statement of the lineage names the digest, as a subject or an input. A new
  // statement about any other digest does not change the lineage.
  [[nodiscard]] bool mentions(const std::string& digest) const;
  // Internal to policy.
  [[nodiscard]] const LineageIndex& index() const { return *index_; }

 private:
  Lineage() = default;

  std::string start_;
  Statements statements_;
  std::vector<std::string> reached_;
  LineageRest rest_;
  std::unique_ptr<const LineageIndex> index_;
};

// Where collect_lineage() finds statements.
struct LineageSource {
  // Returns the statements, manifests included, that have the digest as a subject.
  std::function<Result<Lineage::Statements>(const std::string& digest)> about;
  // Returns the statements that have the digest as an input; used only downwards.
  std::function<Result<Lineage::Statements>(const std::string& digest)> from = {};
};

enum class LineageDirection : std::uint8_t { kUp, kDown };
enum class LineageWhose : std::uint8_t {
  kMayCount,  // statements that may count under some policy
  kAll,       // whoever signed
};

// Collects the statements that lead up from `start` to all that went into it, or down to all that
// was made from it. Follows every strong digest. Ends at the limits.
// Upwards with kMayCount, what cannot count is not followed, takes nothing of the limits, and is
// left out (LineageRest::aside). A statement can count when one of its keys is not revoked, was
// valid when it signed, and has a role that covers the statement under a name of the thing. One
// that was withdrawn is kept, too, because deny lists look at it. The names are those that followed
// statements give the thing as an input; of the start, and of a thing that has no name as an input,
// those in its manifests. A manifest can count when one of its keys may publish under its own name
// and, where the thing is called by inputs, under one of these names. The outcome depends on what
// the trust store says of the keys. Errors: those of the source.
[[nodiscard]] Result<std::shared_ptr<const Lineage>> collect_lineage(
    const std::string& start, const LineageSource& source,
    LineageDirection direction = LineageDirection::kUp, const LineageLimits& limits = {},
    LineageWhose whose = LineageWhose::kMayCount);

// Writes {"start", "statements"} and, when not empty, "reached", "aside" and "cut". The document
// does not depend on the order in which the statements were found.
[[nodiscard]] Json to_json(const Lineage& lineage);
[[nodiscard]] Json to_json(const LineageStatement& statement);
[[nodiscard]] Json to_json(const LineageAside& aside);
// Parse what to_json() wrote. Errors: those of facts_from_json().
[[nodiscard]] Result<LineageStatement> read_json(json::As<LineageStatement> type, const Json& json);
[[nodiscard]] Result<std::shared_ptr<const Lineage>> lineage_from_json(const Json& json);

// Returns whether a policy that matches the workload at `point` has a lineage condition.
[[nodiscard]] bool asks_for_lineage(std::span<const ActivePolicy> policies,
                                    const Workload& workload, DecisionPoint point);

// The lineage as people look at it: one node for each thing, whoever signed what is said of it. A
// manifest joins its digests when one of its signers still stands behind it and may publish under
// its own name and under every name that statements give to one of its digests, as a subject or an
// input. Two assay-tree-v1 digests are never joined, nor are two that disagree (docs/adr/0014).
// What a manifest names without joining it is a node of its own, as far from the start.
struct LineageView {
  struct Node {
    std::vector<std::string> digests;     // ascending; one thing
    std::vector<std::string> names;       // ascending, distinct
    std::vector<std::size_t> statements;  // positions in Lineage::statements(), in log order
    std::size_t depth = 0;                // least number of steps from the start
    bool missing = false;  // no statement that stands says what it was made from, or collects it
    bool cycle = false;    // it was made from itself, as far as the statements say
  };
  struct Edge {
    std::size_t from = 0;  // what went in
    std::size_t to = 0;    // what was made
    std::string role;
    std::size_t statement = 0;  // position in Lineage::statements()
  };
  std::vector<Node> nodes;  // the start first, then by depth and digest
  std::vector<Edge> edges;  // distinct, ascending by to, from, role and statement
};
// At most `depth` steps from the start.
[[nodiscard]] LineageView view_of(const Lineage& lineage, LineageDirection direction,
                                  std::size_t depth);

}  // namespace assay::policy
