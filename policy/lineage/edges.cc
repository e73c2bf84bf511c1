// SPDX-License-Identifier: Apache-2.0
#include "policy/lineage/edges.h"

#include <algorithm>

#include "policy/stage_evidence.h"

namespace assay::policy {
namespace {

bool is_about(const LineageEdgeRule& rule, const WalkedStatement& statement) {
  if (!statement.statement->makes ||
      (!rule.stage.empty() && statement.statement->statement->fact.stage != rule.stage)) {
    return false;
  }
  return rule.role.empty() ||
         std::any_of(statement.inputs.begin(), statement.inputs.end(),
                     [&](const WalkedInput& input) { return input.input->role == rule.role; });
}

class Edges {
 public:
  Edges(const std::function<Json(const WalkedNode&)>& name_of, Timestamp now)
      : name_of_(name_of), now_(now) {}

  void judge(const LineageEdgeRule& rule, const WalkedNode& node) {
    const SignerRequirement requirement{rule.at_least, rule.identities};
    Tally tally(requirement);
    bool any = false;
    for (const WalkedStatement& statement : node.statements) {
      if (is_about(rule, statement)) {
        any = true;
        const JudgedStatement judged{&statement.statement->statement->fact, statement.signers};
        tally.add(judged);
        attest(rule, node, judged);
      }
    }
    if (!any || tally.outcome() == Outcome::kPass) {
      return;
    }
    edges_.failed = edges_.failed || tally.outcome() == Outcome::kFail;
    edges_.undecided = edges_.undecided || tally.outcome() == Outcome::kError;
    Json finding = found(rule, node);
    finding["signers"] = tally.actual()["identities"];
    edges_.unsigned_nodes.add(std::move(finding));
  }

  JudgedEdges take() { return std::move(edges_); }

 private:
  Json found(const LineageEdgeRule& rule, const WalkedNode& node) const {
    Json finding = name_of_(node);
    finding["stage"] = rule.stage;
    finding["role"] = rule.role;
    return finding;
  }

  // One statement without evidence is a step that nobody can vouch for, whatever others say.
  void attest(const LineageEdgeRule& rule, const WalkedNode& node,
              const JudgedStatement& statement) {
    if (!rule.evidence) {
      return;
    }
    const auto counts = [&rule](const std::string& identity, SignerState state) {
      const std::vector<std::string>& listed = rule.identities;
      const bool asked =
          listed.empty() || std::find(listed.begin(), listed.end(), identity) != listed.end();
      return asked ? state : SignerState::kRejected;
    };
    JudgedEvidence judged = judge_evidence(*rule.evidence, counts, statement, now_);
    if (judged.outcome == Outcome::kPass) {
      return;
    }
    if (judged.outcome == Outcome::kFail) {
      edges_.refused.insert(judged.code);
    } else {
      edges_.undecided = true;
    }
    Json finding = found(rule, node);
    finding["statement"] = statement.fact->id.text();
    finding["code"] = info(judged.code).code;
    finding["evidence"] = std::move(judged.actual);
    edges_.unattested.add(std::move(finding));
  }

  const std::function<Json(const WalkedNode&)>& name_of_;
  Timestamp now_;
  JudgedEdges edges_;
};

}  // namespace

JudgedEdges judge_edges(std::span<const LineageEdgeRule> rules, const LineageWalk& walk,
                        const std::function<Json(const WalkedNode&)>& name_of, Timestamp now) {
  Edges edges(name_of, now);
  for (const LineageEdgeRule& rule : rules) {
    for (const auto& [number, node] : walk.nodes) {
      edges.judge(rule, node);
    }
  }
  return edges.take();
}

}  // namespace assay::policy
