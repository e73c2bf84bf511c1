// SPDX-License-Identifier: Apache-2.0
// Judgement of the lineage condition.
#include <algorithm>
#include <optional>
#include <set>

#include "policy/checks.h"
#include "policy/glob.h"
#include "policy/lineage/walk.h"
#include "policy/lineage_condition.h"
#include "schemas/spdx.h"

namespace assay::policy {
namespace {

// What an explanation names of each kind; of more it says how many there are.
constexpr std::size_t kMaxShown = 16;

// Findings of one kind, in an order that does not depend on the order of the facts.
class Shown {
 public:
  void add(Json finding) { findings_.insert(std::move(finding)); }
  [[nodiscard]] bool empty() const { return findings_.empty(); }
  void put(Json& actual, const char* member) const {
    if (findings_.empty()) {
      return;
    }
    Json list = Json::array();
    for (const Json& finding : findings_) {
      if (list.size() == kMaxShown) {
        actual[std::string(member) + "_count"] = findings_.size();
        break;
      }
      list.push_back(finding);
    }
    actual[member] = std::move(list);
  }

 private:
  std::set<Json> findings_;
};

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

class Judge {
 public:
  Judge(const LineageCondition& condition, const Lineage& lineage, const Scope& scope)
      : condition_(condition),
        lineage_(lineage),
        index_(lineage.index()),
        walk_(walk_lineage(lineage, condition.roles, *scope.facts.names, scope.now)) {}

  ConditionResult result() {
    ConditionResult result{
        {}, Outcome::kError, {}, expected(), {{"nodes", walk_.nodes.size()}}, index_.evidence, {}};
    order();
    const bool acyclic = ordered_.size() == walk_.nodes.size();
    judge_denied();
    judge_known();
    judge_edges();
    judge_licences();
    if (acyclic) {
      judge_paths(result.actual);
    }
    checks_.demand_known(acyclic, Reason::kLineageCycle);
    checks_.demand_known(lineage_.reached().empty(), Reason::kLineageIncomplete);
    if (walk_.undecided) {
      checks_.undecided();
    }
    show(result.actual, acyclic);
    checks_.conclude(result);
    return result;
  }

 private:
  Json expected() const {
    Json expected = assay::to_json(condition_);
    if (condition_.leaves.size() > kMaxShown) {
      expected["leaves"] = condition_.leaves.size();
    }
    for (const char* list : {"digests", "names", "keys", "identities"}) {
      if (expected.contains("deny") && expected["deny"].contains(list) &&
          expected["deny"][list].size() > kMaxShown) {
        expected["deny"][list] = expected["deny"][list].size();
      }
    }
    return expected;
  }

  void show(Json& actual, bool acyclic) const {
    denied_.put(actual, "denied");
    unknown_.put(actual, "unknown");
    unsigned_.put(actual, "unsigned");
    licences_.put(actual, "licences");
    if (!lineage_.reached().empty()) {
      actual["reached"] = lineage_.reached();
    }
    if (!acyclic) {
      Shown cycle;
      const std::set<std::size_t> ordered(ordered_.begin(), ordered_.end());
      for (const auto& [number, node] : walk_.nodes) {
        if (!ordered.contains(number)) {
          cycle.add(name_of(node));
        }
      }
      cycle.put(actual, "cycle");
    }
  }

  // The least digest stands for a node.
  Json name_of(const WalkedNode& node) const {
    std::string_view least = index_.digests[node.digests.front()];
    for (const std::size_t digest : node.digests) {
      least = std::min(least, index_.digests[digest]);
    }
    Json json = {{"digest", least}};
    if (!node.called.empty()) {
      json["name"] = *node.called.begin();
    }
    return json;
  }

  // Parents before children; nodes on a cycle, and those below one, are left out.
  void order() {
    std::map<std::size_t, std::size_t> open;
    std::map<std::size_t, std::vector<std::size_t>> children;
    for (const auto& [number, node] : walk_.nodes) {
      open[number] = node.parents.size();
      for (const std::size_t parent : node.parents) {
        children[parent].push_back(number);
      }
      if (node.parents.empty()) {
        ordered_.push_back(number);
      }
    }
    for (std::size_t i = 0; i < ordered_.size(); ++i) {
      for (const std::size_t child : children[ordered_[i]]) {
        if (--open[child] == 0) {
          ordered_.push_back(child);
        }
      }
    }
  }

  // --- what must not be there

  void deny(const WalkedNode& node, const char* by, std::string_view what) {
    Json finding = name_of(node);
    finding["by"] = by;
    finding["value"] = what;
    denied_.add(std::move(finding));
  }

  void judge_denied() {
    for (const auto& [number, node] : walk_.nodes) {
      for (const std::size_t digest : node.digests) {
        deny_digest(node, index_.digests[digest]);
        for (const std::size_t s : index_.about[digest].statements) {
          deny_statement(node, s, digest);
        }
        for (const std::size_t s : index_.about[digest].manifests) {
          deny_statement(node, s, digest);
        }
      }
      for (const WalkedStatement& statement : node.statements) {
        for (const WalkedInput& input : statement.inputs) {
          deny_input(node, *input.input);
        }
      }
    }
    checks_.demand(denied_.empty(), Reason::kAncestorDenied);
  }

  void deny_digest(const WalkedNode& node, std::string_view digest) {
    if (contains(condition_.deny.digests, digest)) {
      deny(node, "digest", digest);
    }
  }

  void deny_name(const WalkedNode& node, std::string_view name) {
    if (any_glob_matches(condition_.deny.names, name)) {
      deny(node, "name", name);
    }
  }

  // Of an input that leads to no node, the node that was made from it is shown.
  void deny_input(const WalkedNode& child, const LineageInput& input) {
    deny_name(child, input.name);
    for (const std::string& digest : input.digests) {
      deny_digest(child, digest);
    }
  }

  void deny_statement(const WalkedNode& node, std::size_t s, std::size_t digest) {
    for (const std::string& name : index_.names(s, digest)) {
      deny_name(node, name);
    }
    const LineageIndex::Statement& statement = index_.statements[s];
    if (!statement.makes && !statement.statement->manifest) {
      return;
    }
    for (const SignerFact& signer : statement.statement->fact.signers) {
      if (contains(condition_.deny.identities, signer.key.identity)) {
        deny(node, "identity", signer.key.identity);
      }
      if (const std::string key = signer.key.id.text(); contains(condition_.deny.keys, key)) {
        deny(node, "key", key);
      }
    }
  }

  // --- what must be known

  bool is_leaf_digest(std::string_view digest) const {
    return std::any_of(condition_.leaves.begin(), condition_.leaves.end(), [&](const auto& one) {
      return one.find(':') != std::string::npos && glob_matches(one, digest);
    });
  }

  bool is_leaf_name(std::string_view name) const {
    return std::any_of(condition_.leaves.begin(), condition_.leaves.end(), [&](const auto& one) {
      return one.find(':') == std::string::npos && !name.empty() && glob_matches(one, name);
    });
  }

  bool is_accepted_leaf(const WalkedNode& node) const {
    return std::any_of(
               node.digests.begin(), node.digests.end(),
               [&](std::size_t digest) { return is_leaf_digest(index_.digests[digest]); }) ||
           std::any_of(node.called.begin(), node.called.end(),
                       [&](std::string_view name) { return is_leaf_name(name); });
  }

  bool is_known(const WalkedNode& node) const {
    return node.has_inputs() || node.is_collected() || is_accepted_leaf(node);
  }

  bool is_known(const WalkedInput& input) const {
    if (input.nodes.empty()) {
      return is_leaf_name(input.input->name) ||
             std::any_of(input.input->digests.begin(), input.input->digests.end(),
                         [&](const std::string& digest) { return is_leaf_digest(digest); });
    }
    return std::all_of(input.nodes.begin(), input.nodes.end(),
                       [&](std::size_t node) { return is_known(walk_.nodes.at(node)); });
  }

  void judge_known() {
    if (!is_known(walk_.nodes.at(walk_.start))) {
      unknown_.add(name_of(walk_.nodes.at(walk_.start)));
    }
    for (const auto& [number, node] : walk_.nodes) {
      for (const WalkedStatement& statement : node.statements) {
        if (statement.statement->statement->unread) {
          Json finding = {{"child", name_of(node)},
                          {"statement", statement.statement->statement->fact.id.text()}};
          unknown_.add(std::move(finding));
        }
        for (const WalkedInput& input : statement.inputs) {
          if (!is_known(input)) {
            unknown_.add({{"role", input.input->role},
                          {"name", input.input->name},
                          {"digests", input.input->digests},
                          {"child", name_of(node)}});
          }
        }
      }
    }
    checks_.demand_known(unknown_.empty(), Reason::kAncestorUnknown);
  }

  // --- who made each node

  void judge_edges() {
    bool failed = false;
    bool undecided = false;
    for (const LineageEdgeRule& rule : condition_.edges) {
      const SignerRequirement requirement{rule.at_least, rule.identities};
      for (const auto& [number, node] : walk_.nodes) {
        Tally tally(requirement);
        bool any = false;
        for (const WalkedStatement& statement : node.statements) {
          if (is_about(rule, statement)) {
            any = true;
            tally.add({&statement.statement->statement->fact, statement.signers});
          }
        }
        if (any && tally.outcome() != Outcome::kPass) {
          failed = failed || tally.outcome() == Outcome::kFail;
          undecided = undecided || tally.outcome() == Outcome::kError;
          Json finding = name_of(node);
          finding["stage"] = rule.stage;
          finding["role"] = rule.role;
          finding["signers"] = tally.actual()["identities"];
          unsigned_.add(std::move(finding));
        }
      }
    }
    // A signature from the future may be what is missing.
    checks_.demand(!failed || walk_.undecided, Reason::kSignersInsufficient);
    if (undecided) {
      checks_.undecided();
    }
  }

  static bool is_about(const LineageEdgeRule& rule, const WalkedStatement& statement) {
    if (!statement.statement->makes ||
        (!rule.stage.empty() && statement.statement->statement->fact.stage != rule.stage)) {
      return false;
    }
    return rule.role.empty() ||
           std::any_of(statement.inputs.begin(), statement.inputs.end(),
                       [&](const WalkedInput& input) { return input.input->role == rule.role; });
  }

  // --- licences

  bool accepts(const std::string& licence) const {
    const auto is_in = [&](const std::vector<std::string>& list) {
      return std::any_of(list.begin(), list.end(),
                         [&](const auto& one) { return same_spdx_id(one, licence); });
    };
    return (condition_.licences->allow.empty() || is_in(condition_.licences->allow)) &&
           !is_in(condition_.licences->deny);
  }

  void judge_licences() {
    if (!condition_.licences) {
      return;
    }
    bool refused = false;
    bool unknown = false;
    for (const auto& [number, node] : walk_.nodes) {
      bool read = false;
      for (const WalkedStatement& one : node.statements) {
        const LineageStatement& statement = *one.statement->statement;
        if (!one.statement->makes || !statement.licence) {
          continue;
        }
        const auto licence = SpdxExpression::parse(*statement.licence);
        const bool good =
            licence && licence->satisfied_by([&](const std::string& id) { return accepts(id); });
        read = true;
        refused = refused || (licence && !good);
        unknown = unknown || !licence;
        if (!good) {
          Json finding = name_of(node);
          finding["licence"] = *statement.licence;
          licences_.add(std::move(finding));
        }
      }
      if (!read && !node.has_inputs()) {
        unknown = true;
        Json finding = name_of(node);
        finding["licence"] = nullptr;
        licences_.add(std::move(finding));
      }
      unknown = look_for_weak_inputs(node) || unknown;
    }
    checks_.demand(!refused, Reason::kLicenceNotAllowed);
    checks_.demand_known(!unknown, Reason::kLicenceUnknown);
  }

  // Nobody can say under which licence such an input is.
  bool look_for_weak_inputs(const WalkedNode& node) {
    bool any = false;
    for (const WalkedStatement& statement : node.statements) {
      for (const WalkedInput& input : statement.inputs) {
        if (input.nodes.empty()) {
          any = true;
          licences_.add({{"role", input.input->role},
                         {"name", input.input->name},
                         {"child", name_of(node)},
                         {"licence", nullptr}});
        }
      }
    }
    return any;
  }

  // --- paths, on a lineage without cycles

  // How many of `stages` occur, in order, on a path that ends at the node.
  std::size_t advance(std::size_t reached, const WalkedStatement& statement) const {
    return reached < condition_.stages.size() &&
                   statement.statement->statement->fact.stage == condition_.stages[reached]
               ? reached + 1
               : reached;
  }

  void judge_paths(Json& actual) {
    struct Path {
      std::size_t edges = 0;
      std::size_t stages = 0;
    };
    std::map<std::size_t, Path> paths;
    for (const std::size_t number : ordered_) {
      const WalkedNode& node = walk_.nodes.at(number);
      Path& here = paths[number];
      for (const WalkedStatement& statement : node.statements) {
        std::size_t before = 0;
        for (const WalkedInput& input : statement.inputs) {
          for (const std::size_t parent : input.nodes) {
            before = std::max(before, paths[parent].stages);
            here.edges = std::max(here.edges, paths[parent].edges + 1);
          }
          here.edges = std::max<std::size_t>(here.edges, 1);
        }
        if (statement.statement->makes) {
          here.stages = std::max(here.stages, advance(before, statement));
        }
      }
      for (const WalkedStatement& statement : node.statements) {
        if (!statement.statement->makes) {
          here.stages = advance(here.stages, statement);
        }
      }
    }
    const Path& whole = paths[walk_.start];
    actual["depth"] = whole.edges;
    if (!condition_.stages.empty()) {
      actual["stages"] = whole.stages;
    }
    checks_.demand(whole.stages == condition_.stages.size() || walk_.undecided,
                   Reason::kStageMissing);
    checks_.demand(!condition_.max_depth || whole.edges <= *condition_.max_depth,
                   Reason::kLineageTooDeep);
  }

  const LineageCondition& condition_;
  const Lineage& lineage_;
  const LineageIndex& index_;
  LineageWalk walk_;
  std::vector<std::size_t> ordered_;
  Checks checks_;
  Shown denied_;
  Shown unknown_;
  Shown unsigned_;
  Shown licences_;
};

}  // namespace

namespace {

bool has_lineage(const std::vector<Condition>& conditions, int depth) {
  return std::any_of(conditions.begin(), conditions.end(), [depth](const Condition& condition) {
    const std::vector<Condition>* parts = parts_of(condition);
    return parts == nullptr ? std::holds_alternative<LineageCondition>(condition.kind)
                            : depth < kMaxConditionDepth && has_lineage(*parts, depth + 1);
  });
}

}  // namespace

bool asks_for_lineage(std::span<const ActivePolicy> policies, const Workload& workload,
                      DecisionPoint point) {
  return std::any_of(policies.begin(), policies.end(), [&](const ActivePolicy& policy) {
    return has_lineage(policy.document.require, 1) &&
           matches(policy.document.match, workload, point);
  });
}

ConditionResult judge(const LineageCondition& condition, const Scope& scope) {
  const auto& lineage = scope.known.lineage;
  const bool own = lineage && scope.known.artifact && scope.facts.names &&
                   lineage->start() == scope.known.artifact->text();
  if (!own) {
    return {{}, Outcome::kError, Reason::kAncestorUnknown, assay::to_json(condition), nullptr, {},
            {}};
  }
  return Judge(condition, *lineage, scope).result();
}

}  // namespace assay::policy
