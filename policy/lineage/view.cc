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
#include "schemas/manifest.h"
#include "schemas/stages.h"

namespace assay::policy {
namespace {

// Whether somebody stands behind the signature: it was not withdrawn, its key not revoked.
bool stands(const StatementFact& fact, const SignerFact& signer) {
  return !is_revoked(signer.key, signer.signed_at) && !took_back(fact, signer.key.identity);
}

bool stands(const LineageStatement& statement) {
  return std::any_of(statement.fact.signers.begin(), statement.fact.signers.end(),
                     [&](const SignerFact& signer) { return stands(statement.fact, signer); });
}

// Which manifests join their digests for a reader. No policy says here who is believed, so a
// manifest joins when one of its signers may publish under its own name and under every name that
// statements give to one of its digests, as a subject or an input: nobody can say that a thing of
// others is another one.
class ReaderJoins {
 public:
  explicit ReaderJoins(const LineageIndex& index) : index_(index), names_(index.digests.size()) {
    for (const LineageIndex::Statement& one : index.statements) {
      if (!one.statement->manifest && stands(*one.statement)) {
        read_names(one);
      }
    }
  }

  std::vector<bool> joins() {
    std::vector<bool> joins;
    for (std::size_t s = 0; s < index_.statements.size(); ++s) {
      const StatementFact& fact = index_.statements[s].statement->fact;
      joins.push_back(could_join(index_, s) && std::any_of(fact.signers.begin(), fact.signers.end(),
                                                           [&](const SignerFact& signer) {
                                                             return stands(fact, signer) &&
                                                                    may_join(signer, s);
                                                           }));
    }
    return joins;
  }

 private:
  void read_names(const LineageIndex::Statement& statement) {
    const auto add = [this](std::size_t digest, const std::string& name) {
      if (!name.empty()) {
        names_[digest].insert(name);
      }
    };
    const std::size_t s = static_cast<std::size_t>(&statement - index_.statements.data());
    for (const std::size_t digest : statement.subjects) {
      for (const std::string& name : index_.names(s, digest)) {
        add(digest, name);
      }
    }
    for (const LineageIndex::Input& input : statement.inputs) {
      for (const std::size_t digest : input.digests) {
        add(digest, input.input->name);
      }
    }
  }

  // At any time: a key that was revoked stays so.
  static bool may_publish(const SignerFact& signer, std::string_view name) {
    const SigningContext context{
        KeyPurpose::kPublisher, {}, std::string(kManifestPredicateType), std::string(name)};
    return check_grant(signer.key, context, signer.signed_at, Timestamp::max()).has_value();
  }

  bool may_join(const SignerFact& signer, std::size_t s) {
    const LineageIndex::Statement& manifest = index_.statements[s];
    const std::vector<std::string>& own = manifest.statement->subjects.front().names;
    return !own.empty() && may_publish(signer, own.front()) &&
           std::all_of(manifest.subjects.begin(), manifest.subjects.end(),
                       [&](std::size_t digest) { return covers(signer, digest); });
  }

  // Asked once for each key, because many manifests can name one digest. That the key was valid
  // when it signed is known by now.
  bool covers(const SignerFact& signer, std::size_t digest) {
    const auto [it, added] = covers_.try_emplace({signer.key.id, digest}, false);
    if (added) {
      it->second = std::all_of(names_[digest].begin(), names_[digest].end(),
                               [&](std::string_view name) { return may_publish(signer, name); });
    }
    return it->second;
  }

  const LineageIndex& index_;
  std::vector<std::set<std::string_view>> names_;  // of each digest
  std::map<std::pair<KeyId, std::size_t>, bool> covers_;
};

class Viewer {
 public:
  Viewer(const Lineage& lineage, LineageDirection direction)
      : index_(lineage.index()),
        down_(direction == LineageDirection::kDown),
        set_of_(joined_things(index_, ReaderJoins(index_).joins())) {
    for (std::size_t digest = 0; digest < set_of_.size(); ++digest) {
      members_[set_of_[digest]].push_back(digest);
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
            called_[set_of_[from]].insert(input.input->name);
          }
          for (const std::size_t to : statement.subjects) {
            edges_.emplace(set_of_[to], set_of_[from], input.input->role, s);
          }
        }
      }
    }
    for (const auto& [to, from, role, statement] : edges_) {
      next_[down_ ? from : to].insert(down_ ? to : from);
    }
  }

  void measure(std::size_t limit) {
    std::deque<std::size_t> waiting;
    reach(set_of_[index_.start], 0, waiting);
    while (!waiting.empty()) {
      const std::size_t here = waiting.front();
      waiting.pop_front();
      for (const std::size_t next : next_[here]) {
        if (depth_[here] < limit) {
          reach(next, depth_[here] + 1, waiting);
        }
      }
    }
  }

  // With it come the things that manifests, whoever signed, name beside it without joining: nothing
  // goes away because somebody joins too little.
  void reach(std::size_t set, std::size_t depth, std::deque<std::size_t>& waiting) {
    std::vector<std::size_t> open = {set};
    while (!open.empty()) {
      const std::size_t here = open.back();
      open.pop_back();
      if (!depth_.try_emplace(here, depth).second) {
        continue;
      }
      waiting.push_back(here);
      for (const std::size_t digest : members_.at(here)) {
        for (const std::size_t s : index_.about[digest].manifests) {
          for (const std::size_t beside : index_.statements[s].subjects) {
            open.push_back(set_of_[beside]);
          }
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
      return stands(one) && surely_makes_subjects(one) &&
             (effect_of(one.fact.stage) == StageEffect::kBegins || !one.inputs.empty());
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
  std::vector<std::size_t> set_of_;                          // of each digest
  std::map<std::size_t, std::vector<std::size_t>> members_;  // digests of each set
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
