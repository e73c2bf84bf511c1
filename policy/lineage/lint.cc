// SPDX-License-Identifier: Apache-2.0
// Lint of the lineage condition.
#include <algorithm>
#include <set>

#include "policy/glob.h"
#include "policy/lineage.h"
#include "policy/lineage_condition.h"
#include "policy/stage_evidence.h"
#include "schemas/spdx.h"

namespace assay::policy {
namespace {

void lint_leaves(const LineageCondition& condition, std::vector<std::string>& warnings) {
  for (const std::string& leaf : condition.leaves) {
    const bool digest = leaf.find(':') != std::string::npos;
    const std::string_view rest = std::string_view(leaf).substr(digest ? leaf.find(':') + 1 : 0);
    if (rest.find_first_not_of('*') == std::string_view::npos) {
      warnings.push_back("leaves accepts everything of the kind '" + leaf +
                         "': an ancestor of which nothing is known passes");
    }
    for (const std::string& denied : condition.deny.digests) {
      if (digest && glob_matches(leaf, denied)) {
        warnings.push_back("leaves accepts what deny forbids: " + denied);
      }
    }
    if (std::find(condition.deny.names.begin(), condition.deny.names.end(), leaf) !=
        condition.deny.names.end()) {
      warnings.push_back("leaves accepts what deny forbids: " + leaf);
    }
  }
}

void lint_edges(const LineageCondition& condition, std::vector<std::string>& warnings) {
  for (const LineageEdgeRule& edge : condition.edges) {
    const std::set<std::string> distinct(edge.identities.begin(), edge.identities.end());
    if (!distinct.empty() && edge.at_least > distinct.size()) {
      warnings.push_back("an edge rule cannot pass: it asks for " + std::to_string(edge.at_least) +
                         " identities and lists " + std::to_string(distinct.size()));
    }
    if (edge.stage == "evaluate" || edge.stage == "approve" || edge.stage == "deploy") {
      warnings.push_back("an edge rule about the stage " + edge.stage +
                         " is about nothing: that stage makes nothing");
    }
    if (!edge.role.empty() && !condition.roles.empty() &&
        std::find(condition.roles.begin(), condition.roles.end(), edge.role) ==
            condition.roles.end()) {
      warnings.push_back("an edge rule about the role " + edge.role +
                         " is about nothing: roles does not follow it");
    }
    for (const std::string& identity : edge.identities) {
      if (std::find(condition.deny.identities.begin(), condition.deny.identities.end(), identity) !=
          condition.deny.identities.end()) {
        warnings.push_back("an edge rule asks for " + identity + ", whom deny forbids");
      }
    }
    for (const std::string& text : lint_evidence(edge.evidence)) {
      warnings.push_back("an edge rule " + text);
    }
  }
}

void lint_licences(const LineageLicences& licences, std::vector<std::string>& warnings) {
  if (licences.allow.empty()) {
    warnings.push_back(
        "licences denies without allow: a licence that nobody thought of, and the same under "
        "another name, such as GPL-3.0 for GPL-3.0-only, is accepted");
  }
  std::size_t left = licences.allow.size();
  for (const std::string& allowed : licences.allow) {
    const bool denied =
        std::any_of(licences.deny.begin(), licences.deny.end(),
                    [&](const std::string& one) { return same_spdx_id(one, allowed); });
    if (denied) {
      warnings.push_back("licences allows and denies " + allowed + ": it is denied");
      --left;
    }
  }
  if (left == 0 && !licences.allow.empty()) {
    warnings.emplace_back("cannot pass: every licence that is allowed is denied");
  }
}

}  // namespace

std::vector<std::string> lint_lineage(const LineageCondition& condition, bool negated) {
  std::vector<std::string> warnings;
  lint_leaves(condition, warnings);
  lint_edges(condition, warnings);
  if (condition.licences) {
    lint_licences(*condition.licences, warnings);
  }
  const std::vector<std::string>& roles = condition.roles;
  if (!roles.empty() && std::find(roles.begin(), roles.end(), "base-model") == roles.end()) {
    warnings.push_back("roles leaves out base-model: what a base model was made from is not seen");
  }
  for (const std::string& digest : condition.deny.digests) {
    if (!is_strong_digest(digest)) {
      warnings.push_back("deny names a digest that several things can have: " + digest);
    }
  }
  const LineageDeny& deny = condition.deny;
  const bool denies = !deny.digests.empty() || !deny.names.empty() || !deny.keys.empty() ||
                      !deny.identities.empty() || condition.licences;
  if (negated && !denies) {
    warnings.push_back(
        "never passes below a not: only what is found in a lineage can be turned round, and the "
        "condition has neither deny nor licences");
  }
  return warnings;
}

}  // namespace assay::policy
