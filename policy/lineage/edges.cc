// SPDX-License-Identifier: Apache-2.0
#include "policy/lineage/edges.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "policy/conditions/stage_evidence.h"

namespace assay::policy {
namespace {

bool follows(const LineageEdgeRule& rule, const WalkedInput& input) {
  return rule.role.empty() || input.input->role == rule.role;
}

bool is_about(const LineageEdgeRule& rule, const WalkedStatement& statement) {
  if (!statement.statement->makes ||
      (!rule.stage.empty() && statement.statement->statement->fact.stage != rule.stage)) {
    return false;
  }
  return rule.role.empty() ||
         std::any_of(statement.inputs.begin(), statement.inputs.end(),
                     [&](const WalkedInput& input) { return follows(rule, input); });
}

JudgedStatement judged_of(const WalkedStatement& statement) {
  return {&statement.statement->statement->fact, statement.signers};
}

// What statements say about one thing that went in.
struct Edge {
  std::vector<const WalkedStatement*> statements;
  const WalkedInput* input = nullptr;  // null: statements that name nothing
};

// One thing that went in: its node; of an input that leads to no node, what it is called and its
// weak digests; of a statement that names nothing, neither.
using EdgeFrom = std::tuple<std::optional<std::size_t>, std::string_view, std::vector<std::string>>;

std::map<EdgeFrom, Edge> edges_of(const LineageEdgeRule& rule,
                                  const std::vector<const WalkedStatement*>& about) {
  std::map<EdgeFrom, Edge> edges;
  const auto add = [&](EdgeFrom from, const WalkedStatement& statement, const WalkedInput* input) {
    Edge& edge = edges[std::move(from)];
    edge.input = input;
    if (edge.statements.empty() || edge.statements.back() != &statement) {
      edge.statements.push_back(&statement);
    }
  };
  for (const WalkedStatement* statement : about) {
    bool any = false;
    for (const WalkedInput& input : statement->inputs) {
      if (!follows(rule, input)) {
        continue;
      }
      any = true;
      for (const std::size_t node : input.nodes) {
        add({node, {}, {}}, *statement, &input);
      }
      if (input.nodes.empty()) {
        add({{}, input.input->name, input.input->digests}, *statement, &input);
      }
    }
    if (!any) {
      add({}, *statement, nullptr);
    }
  }
  return edges;
}

class Edges {
 public:
  Edges(const std::function<Json(const WalkedNode&)>& name_of, Patience& patience, Timestamp now)
      : name_of_(name_of), patience_(patience), now_(now) {}

  void judge(const LineageEdgeRule& rule, const WalkedNode& node) {
    std::vector<const WalkedStatement*> about;
    for (const WalkedStatement& statement : node.statements) {
      if (patience_.ends()) {
        return;
      }
      if (is_about(rule, statement)) {
        about.push_back(&statement);
        attest(rule, node, judged_of(statement));
      }
    }
    // All edges of one statement have the same signers.
    if (about.size() == 1) {
      return judge_edge(rule, node, about, nullptr);
    }
    for (const auto& [from, edge] : edges_of(rule, about)) {
      judge_edge(rule, node, edge.statements, edge.input);
    }
  }

  JudgedEdges take() { return std::move(edges_); }

 private:
  // `input`: what the edge comes from, for the explanation; null when the statements say it alike.
  void judge_edge(const LineageEdgeRule& rule, const WalkedNode& node,
                  const std::vector<const WalkedStatement*>& statements, const WalkedInput* input) {
    const SignerRequirement requirement{rule.at_least, rule.identities};
    Tally tally(requirement);
    for (const WalkedStatement* statement : statements) {
      tally.add(judged_of(*statement));
    }
    if (tally.outcome() == Outcome::kPass) {
      return;
    }
    edges_.failed = edges_.failed || tally.outcome() == Outcome::kFail;
    edges_.undecided = edges_.undecided || tally.outcome() == Outcome::kError;
    Json finding = found(rule, node);
    if (input != nullptr) {
      finding["input"] = {{"name", input->input->name}, {"digests", input->input->digests}};
    }
    finding["signers"] = tally.actual()["identities"];
    edges_.unsigned_nodes.add(std::move(finding));
  }

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
  Patience& patience_;
  Timestamp now_;
  JudgedEdges edges_;
};

}  // namespace

JudgedEdges judge_edges(std::span<const LineageEdgeRule> rules, const LineageWalk& walk,
                        Patience& patience, const std::function<Json(const WalkedNode&)>& name_of,
                        Timestamp now) {
  Edges edges(name_of, patience, now);
  for (const LineageEdgeRule& rule : rules) {
    for (const auto& [number, node] : walk.nodes) {
      edges.judge(rule, node);
    }
  }
  return edges.take();
}

}  // namespace assay::policy
