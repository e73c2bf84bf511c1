// SPDX-License-Identifier: Apache-2.0
// Judgement of the lineage condition.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "policy/conditions/age.h"
#include "policy/conditions/checks.h"
#include "policy/glob.h"
#include "policy/lineage/deny.h"
#include "policy/lineage/edges.h"
#include "policy/lineage/walk.h"
#include "policy/lineage_condition.h"
#include "policy/lineage_results.h"
#include "schemas/name_form.h"
#include "schemas/spdx.h"

namespace assay::policy {
namespace {

// The licence without an exception and without "or later".
std::string_view plain_licence(std::string_view licence) {
  licence = licence.substr(0, licence.find(' '));
  return licence.ends_with('+') ? licence.substr(0, licence.size() - 1) : licence;
}

class Judge {
 public:
  Judge(const LineageCondition& condition, const Lineage& lineage, const Scope& scope)
      : condition_(condition),
        lineage_(lineage),
        index_(lineage.index()),
        demands_(scope.require == nullptr ? PublisherDemands() : publisher_demands(*scope.require)),
        names_(*scope.facts.names),
        now_(scope.now),
        patience_(scope.known.lineage_results),
        walk_(
            walk_lineage(lineage, condition, demands_, *scope.facts.names, scope.now, patience_)) {}

  // Nothing when nobody waits any more.
  std::optional<ConditionResult> result() {
    if (patience_.over()) {
      return std::nullopt;
    }
    ConditionResult result{
        {}, Outcome::kError, {}, expected(), {{"nodes", walk_.nodes.size()}}, index_.evidence, {}};
    order();
    const bool acyclic = ordered_.size() == walk_.nodes.size();
    judge_denied();
    judge_withdrawn();
    judge_known();
    judge_edges();
    judge_licences();
    if (patience_.over()) {
      return std::nullopt;
    }
    if (acyclic) {
      judge_paths(result.actual);
    }
    checks_.demand_known(acyclic, Reason::kLineageCycle);
    checks_.demand_known(is_whole(walk_), Reason::kLineageIncomplete);
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
    if (condition_.leaves.size() > Shown::kMaxShown) {
      expected["leaves"] = condition_.leaves.size();
    }
    for (const char* list : {"digests", "names", "keys", "identities"}) {
      if (expected.contains("deny") && expected["deny"].contains(list) &&
          expected["deny"][list].size() > Shown::kMaxShown) {
        expected["deny"][list] = expected["deny"][list].size();
      }
    }
    return expected;
  }

  // A limit that the search reached elsewhere, on the word of people who do not count here, is no
  // matter.
  bool is_whole(const LineageWalk& walk) const {
    const std::vector<std::size_t>& cut = index_.cut;
    return lineage_.reached().empty() ||
           (!cut.empty() &&
            std::none_of(walk.nodes.begin(), walk.nodes.end(), [&](const auto& node) {
              return std::any_of(node.second.digests.begin(), node.second.digests.end(),
                                 [&](std::size_t digest) {
                                   return std::binary_search(cut.begin(), cut.end(), digest);
                                 });
            }));
  }

  void show(Json& actual, bool acyclic) const {
    denied_.put(actual, "denied");
    once_denied_.put(actual, "denied_before_withdrawal");
    unreadable_.put(actual, "unreadable");
    unknown_.put(actual, "unknown");
    unsigned_.put(actual, "unsigned");
    unattested_.put(actual, "unattested");
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
    if (const auto& names = node.called.empty() ? node.names : node.called; !names.empty()) {
      json["name"] = *names.begin();
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

  void judge_denied() {
    JudgedDenied judged =
        assay::policy::judge_denied(condition_.deny, lineage_, walk_, patience_,
                                    [this](const WalkedNode& node) { return name_of(node); });
    denied_ = std::move(judged.denied);
    unreadable_ = std::move(judged.unreadable);
    checks_.demand(denied_.empty(), Reason::kAncestorDenied);
  }

  // What a signer once said went in went in, as far as anybody knows: taking it back makes nothing
  // clean. That is no proof either, so a `not` does not turn it round.
  void judge_withdrawn() {
    const bool any = std::ranges::any_of(lineage_.statements(), [](const auto& statement) {
      return statement->fact.withdrawn.has_value();
    });
    if (!any || condition_.deny == LineageDeny{}) {
      return;
    }
    const LineageWalk before =
        walk_lineage(lineage_, condition_, demands_, names_, now_, patience_, Withdrawn::kAsBefore);
    JudgedDenied judged =
        assay::policy::judge_denied(condition_.deny, lineage_, before, patience_,
                                    [this](const WalkedNode& node) { return name_of(node); });
    if (denied_.empty()) {
      once_denied_ = std::move(judged.denied);
    }
    checks_.demand_known(once_denied_.empty(), Reason::kAncestorDenied);
    checks_.demand_known(judged.unreadable.empty(), Reason::kAncestorUnknown);
    checks_.demand_known(is_whole(before), Reason::kLineageIncomplete);
    if (before.undecided) {
      checks_.undecided();
    }
  }

  // --- what must be known

  bool is_leaf_digest(std::string_view digest) const {
    return std::any_of(condition_.leaves.begin(), condition_.leaves.end(), [&](const auto& one) {
      return one.find(':') != std::string::npos && glob_matches(one, digest);
    });
  }

  // A name that leads out of where it seems to lie is no leaf.
  bool is_leaf_name(std::string_view name) {
    if (patience_.ends()) {
      return false;
    }
    const auto plain = name.empty() ? std::nullopt : normalised_name(name);
    return plain &&
           std::any_of(condition_.leaves.begin(), condition_.leaves.end(), [&](const auto& one) {
             const auto pattern = normalised_name(one);
             return one.find(':') == std::string::npos && glob_matches(one, name) && pattern &&
                    glob_matches(*pattern, *plain);
           });
  }

  bool is_accepted_leaf(const WalkedNode& node) {
    return std::any_of(
               node.digests.begin(), node.digests.end(),
               [&](std::size_t digest) { return is_leaf_digest(index_.digests[digest]); }) ||
           (&node != &walk_.nodes.at(walk_.start) &&
            std::any_of(node.called.begin(), node.called.end(),
                        [&](std::string_view name) { return is_leaf_name(name); }));
  }

  // Many inputs can lead to one node, which can have many names.
  bool is_known(std::size_t number) {
    const auto [known, added] = known_.try_emplace(number, false);
    if (added) {
      const WalkedNode& node = walk_.nodes.at(number);
      known->second = node.has_inputs() || node.is_collected() || is_accepted_leaf(node);
    }
    return known->second;
  }

  bool is_known(const WalkedInput& input) {
    if (input.nodes.empty()) {
      return !input.input->digests.empty() &&
             (is_leaf_name(input.input->name) ||
              std::any_of(input.input->digests.begin(), input.input->digests.end(),
                          [&](const std::string& digest) { return is_leaf_digest(digest); }));
    }
    return std::all_of(input.nodes.begin(), input.nodes.end(),
                       [&](std::size_t node) { return is_known(node); });
  }

  void judge_known() {
    if (!is_known(walk_.start)) {
      unknown_.add(name_of(walk_.nodes.at(walk_.start)));
    }
    for (const auto& [number, node] : walk_.nodes) {
      for (const WalkedStatement& statement : node.statements) {
        if (patience_.ends()) {
          return;
        }
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
    checks_.demand_known(unknown_.empty() && unreadable_.empty(), Reason::kAncestorUnknown);
  }

  // --- who made each node

  void judge_edges() {
    const JudgedEdges judged = assay::policy::judge_edges(
        condition_.edges, walk_, patience_,
        [this](const WalkedNode& node) { return name_of(node); }, now_);
    // A signature from the future may be what is missing.
    checks_.demand(!judged.failed || walk_.undecided, Reason::kSignersInsufficient);
    for (const Reason refused : judged.refused) {
      checks_.demand(walk_.undecided, refused);
    }
    if (judged.undecided) {
      checks_.undecided();
    }
    unsigned_ = judged.unsigned_nodes;
    unattested_ = judged.unattested;
  }

  // --- licences

  bool accepts(const std::string& licence) const {
    const auto is_in = [](const std::vector<std::string>& list, std::string_view what) {
      return std::any_of(list.begin(), list.end(),
                         [&](const auto& one) { return same_spdx_id(one, what); });
    };
    const LineageLicences& rule = *condition_.licences;
    const bool allowed = is_in(rule.allow, licence);
    return (rule.allow.empty() || allowed) && !is_in(rule.deny, licence) &&
           (allowed || !is_in(rule.deny, plain_licence(licence)));
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
        if (patience_.ends()) {
          return;
        }
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
  PublisherDemands demands_;
  const Names& names_;
  Timestamp now_;
  Patience patience_;
  LineageWalk walk_;
  std::map<std::size_t, bool> known_;  // of the nodes asked about so far
  std::vector<std::size_t> ordered_;
  Checks checks_;
  Shown denied_;
  Shown once_denied_;  // that only the lineage from before withdrawals has
  Shown unreadable_;
  Shown unknown_;
  Shown unsigned_;
  Shown unattested_;
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
  const LineageResults* results = scope.known.lineage_results;
  LineageQuestion question{*lineage, condition, *scope.facts.names, {}};
  for (const ManifestCondition* demand :
       scope.require == nullptr ? PublisherDemands() : publisher_demands(*scope.require)) {
    question.demands.push_back(demand->signers);
  }
  if (const auto before = results ? results->find(question, scope.now) : nullptr) {
    return *before;
  }
  std::optional<ConditionResult> judged = Judge(condition, *lineage, scope).result();
  if (!judged) {
    return {
        {}, Outcome::kError, Reason::kConditionUndecided, assay::to_json(condition), nullptr, {},
        {}};
  }
  if (results != nullptr) {
    Horizon horizon{scope.now};
    note_changes(condition, *lineage, horizon);
    results->keep(question, horizon, *judged);
  }
  return *std::move(judged);
}

void note_changes(const LineageCondition& condition, const Lineage& lineage, Horizon& horizon) {
  const std::vector<Timestamp>& changes = lineage.index().changes;
  const auto next = std::upper_bound(changes.begin(), changes.end(), horizon.now);
  if (next != changes.end()) {
    horizon.changes_at(*next);
  }
  const std::vector<Timestamp>& attested = lineage.index().attested;
  for (const LineageEdgeRule& rule : condition.edges) {
    const auto age = rule.evidence ? rule.evidence->max_age_seconds : std::nullopt;
    const auto young = std::partition_point(attested.begin(), attested.end(), [&](Timestamp then) {
      return !age || is_older(then, *age, horizon.now);
    });
    if (young != attested.end()) {
      horizon.ages_from(*young, *age);  // the oldest that is not too old yet
    }
  }
}

}  // namespace assay::policy
