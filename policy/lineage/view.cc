// SPDX-License-Identifier: Apache-2.0
// The lineage as people look at it: nodes, edges, distances, cycles.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "policy/lineage/index.h"
#include "policy/lineage_condition.h"
#include "policy/withdrawn_fact.h"

namespace assay::policy {
namespace {

class Viewer {
 public:
  Viewer(const Lineage& lineage, LineageDirection direction)
      : index_(lineage.index()),
        down_(direction == LineageDirection::kDown),
        sets_(index_.digests.size()) {
    for (const LineageIndex::Statement& statement : index_.statements) {
      for (std::size_t i = 1; statement.statement->manifest && i < statement.subjects.size(); ++i) {
        sets_.join(statement.subjects.front(), statement.subjects[i]);
      }
    }
    for (std::size_t digest = 0; digest < index_.digests.size(); ++digest) {
      members_[sets_.find(digest)].push_back(digest);
    }
    find_edges();
  }

  LineageView view(std::size_t depth) {
    measure(depth);
    mark_cycles();
    std::vector<std::size_t> order;
    for (const auto& [set, steps] : depth_) {
      order.push_back(set);
    }
    const auto key = [&](std::size_t set) { return std::pair(depth_.at(set), least(set)); };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    std::map<std::size_t, std::size_t> position;
    LineageView view;
    for (const std::size_t set : order) {
      position[set] = view.nodes.size();
      view.nodes.push_back(node(set));
    }
    for (const auto& [to, from, role, statement] : edges_) {
      if (position.contains(to) && position.contains(from)) {
        view.edges.push_back({position.at(from), position.at(to), std::string(role), statement});
      }
    }
    const auto tie = [](const LineageView::Edge& edge) {
      return std::tie(edge.to, edge.from, edge.role, edge.statement);
    };
    std::sort(view.edges.begin(), view.edges.end(),
              [&](const auto& a, const auto& b) { return tie(a) < tie(b); });
    return view;
  }

 private:
  std::string_view least(std::size_t set) const {
    std::string_view least = index_.digests[members_.at(set).front()];
    for (const std::size_t digest : members_.at(set)) {
      least = std::min(least, index_.digests[digest]);
    }
    return least;
  }

  void find_edges() {
    for (std::size_t s = 0; s < index_.statements.size(); ++s) {
      const LineageIndex::Statement& statement = index_.statements[s];
      for (const LineageIndex::Input& input : statement.inputs) {
        for (const std::size_t from : input.digests) {
          if (!input.input->name.empty()) {
            called_[sets_.find(from)].insert(input.input->name);
          }
          for (const std::size_t to : statement.subjects) {
            edges_.emplace(sets_.find(to), sets_.find(from), input.input->role, s);
          }
        }
      }
    }
    for (const auto& [to, from, role, statement] : edges_) {
      next_[down_ ? from : to].insert(down_ ? to : from);
    }
  }

  void measure(std::size_t limit) {
    std::deque<std::size_t> waiting = {sets_.find(index_.start)};
    depth_[waiting.front()] = 0;
    while (!waiting.empty()) {
      const std::size_t here = waiting.front();
      waiting.pop_front();
      for (const std::size_t next : next_[here]) {
        if (depth_[here] < limit && depth_.try_emplace(next, depth_[here] + 1).second) {
          waiting.push_back(next);
        }
      }
    }
  }

  // What is left when nodes without anything before them, and then those without anything after
  // them, are taken away again and again.
  void mark_cycles() {
    Neighbours forward;
    Neighbours back;
    for (const auto& [set, steps] : depth_) {
      cycle_.insert(set);
      for (const std::size_t next : next_[set]) {
        if (depth_.contains(next)) {
          forward[set].push_back(next);
          back[next].push_back(set);
        }
      }
    }
    take_away(forward, back);
    take_away(back, forward);
  }

  // Takes away nodes without anything before them, and what then has nothing, each edge once:
  // strangers can make paths as long as the lineage.
  using Neighbours = std::map<std::size_t, std::vector<std::size_t>>;
  void take_away(const Neighbours& forward, const Neighbours& back) {
    std::map<std::size_t, std::size_t> before;
    std::vector<std::size_t> waiting;
    const auto of = [](const Neighbours& all, std::size_t set) {
      static const std::vector<std::size_t> nobody;
      const auto found = all.find(set);
      return found == all.end() ? &nobody : &found->second;
    };
    for (const std::size_t set : cycle_) {
      for (const std::size_t last : *of(back, set)) {
        before[set] += cycle_.contains(last) ? 1U : 0U;
      }
      if (before[set] == 0) {
        waiting.push_back(set);
      }
    }
    while (!waiting.empty()) {
      const std::size_t here = waiting.back();
      waiting.pop_back();
      cycle_.erase(here);
      for (const std::size_t next : *of(forward, here)) {
        if (cycle_.contains(next) && --before[next] == 0) {
          waiting.push_back(next);
        }
      }
    }
  }

  // As a decision without leaf patterns judges it, whoever signed: somebody says what went in, or
  // that the thing was collected. What was withdrawn, or signed by revoked keys alone, says
  // nothing.
  bool is_known(const std::set<std::size_t>& statements) const {
    return std::any_of(statements.begin(), statements.end(), [&](std::size_t s) {
      const LineageStatement& one = *index_.statements[s].statement;
      const bool stands = !is_withdrawn(one.fact) &&
                          std::any_of(one.fact.signers.begin(), one.fact.signers.end(),
                                      [](const SignerFact& signer) { return !signer.key.revoked; });
      return stands && surely_makes_subjects(one) &&
             (one.fact.stage == kCollectStage || !one.inputs.empty());
    });
  }

  LineageView::Node node(std::size_t set) const {
    LineageView::Node node;
    std::set<std::string> names;
    std::set<std::size_t> statements;
    for (const std::size_t digest : members_.at(set)) {
      node.digests.emplace_back(index_.digests[digest]);
      const LineageIndex::About& about = index_.about[digest];
      for (const std::span<const std::size_t> list : {about.statements, about.manifests}) {
        for (const std::size_t s : list) {
          statements.insert(s);
          const std::vector<std::string>& given = index_.names(s, digest);
          names.insert(given.begin(), given.end());
        }
      }
    }
    if (const auto called = called_.find(set); called != called_.end()) {
      names.insert(called->second.begin(), called->second.end());
    }
    names.erase("");
    std::sort(node.digests.begin(), node.digests.end());
    node.names.assign(names.begin(), names.end());
    node.statements.assign(statements.begin(), statements.end());
    node.depth = depth_.at(set);
    node.missing = !is_known(statements);
    node.cycle = cycle_.contains(set);
    return node;
  }

  const LineageIndex& index_;
  bool down_;
  DigestSets sets_;
  std::map<std::size_t, std::vector<std::size_t>> members_;
  std::map<std::size_t, std::set<std::string>> called_;
  // What was made, from what, role and statement.
  std::set<std::tuple<std::size_t, std::size_t, std::string_view, std::size_t>> edges_;
  std::map<std::size_t, std::set<std::size_t>> next_;
  std::map<std::size_t, std::size_t> depth_;
  std::set<std::size_t> cycle_;
};

}  // namespace

LineageView view_of(const Lineage& lineage, LineageDirection direction, std::size_t depth) {
  return Viewer(lineage, direction).view(depth);
}

}  // namespace assay::policy
