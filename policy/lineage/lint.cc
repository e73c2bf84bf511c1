// SPDX-License-Identifier: Apache-2.0
// Lint of the lineage condition.
#include <algorithm>
#include <set>
#include <utility>

#include "policy/conditions/stage_evidence.h"
#include "policy/glob.h"
#include "policy/lineage.h"
#include "policy/lineage_condition.h"
#include "schemas/spdx.h"
#include "schemas/stages.h"

namespace assay::policy {
namespace {

bool lists(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool makes_nothing(std::string_view stage) { return effect_of(stage) == StageEffect::kDescribes; }

// Whether the stage makes something out of something else. One with a name of its own may.
bool is_step(std::string_view stage) {
  return !stage.empty() && effect_of(stage).value_or(StageEffect::kMakes) == StageEffect::kMakes;
}

class LineageLinter {
 public:
  explicit LineageLinter(const LineageCondition& condition) : condition_(condition) {}

  std::vector<Finding> findings(bool negated) {
    for (std::size_t i = 0; i < condition_.leaves.size(); ++i) {
      leaf(condition_.leaves[i], "/leaves/" + std::to_string(i));
    }
    for (std::size_t i = 0; i < condition_.edges.size(); ++i) {
      edge(condition_.edges[i], "/edges/" + std::to_string(i));
    }
    if (condition_.licences) {
      licences(*condition_.licences);
    }
    whole(negated);
    return std::move(findings_);
  }

 private:
  void warn(std::string where, std::string text) {
    findings_.push_back(
        {Finding::Level::kWarning, {}, std::move(text), "advice", "/lineage" + std::move(where)});
  }
  // Nobody means what the condition says there.
  void refuse(const char* code, std::string where, std::string text) {
    findings_.push_back(
        {Finding::Level::kError, {}, std::move(text), code, "/lineage" + std::move(where)});
  }

  void leaf(const std::string& leaf, const std::string& where) {
    const bool digest = leaf.find(':') != std::string::npos;
    const std::string_view rest = std::string_view(leaf).substr(digest ? leaf.find(':') + 1 : 0);
    if (rest.find_first_not_of('*') == std::string_view::npos) {
      warn(where, "leaves accepts everything of the kind '" + leaf +
                      "': an ancestor of which nothing is known passes");
    }
    const LineageDeny& deny = condition_.deny;
    if (lists(deny.digests, leaf) || lists(deny.names, leaf)) {
      refuse("contradiction", where, "leaves accepts what deny forbids: " + leaf);
      return;
    }
    for (const std::string& denied : deny.digests) {
      if (digest && glob_matches(leaf, denied)) {
        warn(where, "leaves accepts what deny forbids: " + denied);
      }
    }
  }

  void edge(const LineageEdgeRule& edge, const std::string& where) {
    const std::set<std::string> distinct(edge.identities.begin(), edge.identities.end());
    if (!distinct.empty() && edge.at_least > distinct.size()) {
      refuse("never-passes", where + "/signers/at_least",
             "an edge rule cannot pass: it asks for " + std::to_string(edge.at_least) +
                 " identities and lists " + std::to_string(distinct.size()));
    }
    if (makes_nothing(edge.stage)) {
      refuse("contradiction", where + "/stage",
             "an edge rule about the stage " + edge.stage +
                 " is about nothing: that stage makes nothing");
    }
    if (!edge.role.empty() && !condition_.roles.empty() && !lists(condition_.roles, edge.role)) {
      refuse("contradiction", where + "/role",
             "an edge rule about the role " + edge.role +
                 " is about nothing: roles does not follow it");
    }
    for (const std::string& identity : distinct) {
      if (lists(condition_.deny.identities, identity)) {
        refuse("contradiction", where + "/signers/identities",
               "an edge rule asks for " + identity + ", whom deny forbids");
      }
    }
    for (const std::string& text : lint_evidence(edge.evidence)) {
      warn(where + "/evidence", "an edge rule " + text);
    }
  }

  void licences(const LineageLicences& licences) {
    if (licences.allow.empty()) {
      warn("/licences",
           "licences denies without allow: a licence that nobody thought of, and the same under "
           "another name, such as GPL-3.0 for GPL-3.0-only, is accepted");
    }
    std::size_t left = licences.allow.size();
    for (const std::string& allowed : licences.allow) {
      const bool denied =
          std::any_of(licences.deny.begin(), licences.deny.end(),
                      [&](const std::string& one) { return same_spdx_id(one, allowed); });
      if (denied) {
        refuse("contradiction", "/licences",
               "licences allows and denies " + allowed + ": it is denied");
        --left;
      }
    }
    if (left == 0 && !licences.allow.empty()) {
      refuse("never-passes", "/licences", "cannot pass: every licence that is allowed is denied");
    }
  }

  void whole(bool negated) {
    const std::vector<std::string>& roles = condition_.roles;
    if (!roles.empty() && !lists(roles, "base-model")) {
      warn("/roles", "roles leaves out base-model: what a base model was made from is not seen");
    }
    const LineageDeny& deny = condition_.deny;
    for (const std::string& digest : deny.digests) {
      if (!is_strong_digest(digest)) {
        warn("/deny/digests", "deny names a digest that several things can have: " + digest);
      }
    }
    // Each of these stages makes a thing of its own, and an edge leads from one to the next.
    const auto making = static_cast<std::uint64_t>(
        std::count_if(condition_.stages.begin(), condition_.stages.end(),
                      [](const std::string& stage) { return !makes_nothing(stage); }));
    if (condition_.max_depth && making > *condition_.max_depth + 1) {
      refuse("never-passes", "/max_depth",
             "cannot pass: stages asks for " + std::to_string(making) +
                 " steps that make something, and max_depth allows " +
                 std::to_string(*condition_.max_depth) + " edges");
    }
    const bool denies = !deny.digests.empty() || !deny.names.empty() || !deny.keys.empty() ||
                        !deny.identities.empty() || condition_.licences;
    if (negated && !denies) {
      warn("",
           "never passes below a not: only what is found in a lineage can be turned round, and the "
           "condition has neither deny nor licences");
    }
  }

  const LineageCondition& condition_;
  std::vector<Finding> findings_;
};

}  // namespace

bool asks_for_step(const std::vector<Condition>& require, int depth) {
  return std::ranges::any_of(require, [depth](const Condition& condition) {
    if (const auto* lineage = std::get_if<LineageCondition>(&condition.kind)) {
      return std::ranges::any_of(lineage->stages, is_step);
    }
    if (const auto* statement = std::get_if<StatementCondition>(&condition.kind)) {
      return is_step(statement->stage) || statement->predicate_type == kSlsaProvenance;
    }
    const auto* all = std::get_if<AllCondition>(&condition.kind);
    return all != nullptr && depth < kMaxConditionDepth && asks_for_step(all->of, depth + 1);
  });
}

std::optional<std::string> step_of_edges(const LineageCondition& condition) {
  for (const LineageEdgeRule& edge : condition.edges) {
    if (is_step(edge.stage)) {
      return edge.stage;
    }
    if (edge.stage.empty() && !edge.role.empty()) {
      return "train";
    }
  }
  return std::nullopt;
}

std::vector<Finding> lint_lineage(const LineageCondition& condition, bool negated) {
  return LineageLinter(condition).findings(negated);
}

}  // namespace assay::policy
