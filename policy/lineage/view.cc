// SPDX-License-Identifier: Apache-2.0
// The lineage as people look at it: nodes, edges, distances, cycles.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include "policy/lineage/index.h"

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
    for (const auto& [set, steps] : depth_) {
      cycle_.insert(set);
    }
    for (bool changed = true; changed;) {
      changed = false;
      std::map<std::size_t, bool> has_next;
      std::map<std::size_t, bool> has_last;
      for (const std::size_t set : cycle_) {
        for (const std::size_t next : next_[set]) {
          if (cycle_.contains(next)) {
            has_next[set] = true;
            has_last[next] = true;
          }
        }
      }
      changed = std::erase_if(
                    cycle_, [&](std::size_t set) { return !has_next[set] || !has_last[set]; }) > 0;
    }
  }

  LineageView::Node node(std::size_t set) const {
    LineageView::Node node;
    std::set<std::string> names;
    std::set<std::size_t> statements;
    for (const std::size_t digest : members_.at(set)) {
      node.digests.emplace_back(index_.digests[digest]);
      const LineageIndex::About& about = index_.about[digest];
      for (const std::vector<std::size_t>* list : {&about.statements, &about.manifests}) {
        for (const std::size_t s : *list) {
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
    node.missing = statements.empty();
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
