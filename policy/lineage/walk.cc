// SPDX-License-Identifier: Apache-2.0
#include "policy/lineage/walk.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "schemas/manifest.h"

namespace assay::policy {
namespace {

SignerState at_time(const SignerFact& signer, Timestamp now) {
  return signer.signed_at > now ? SignerState::kUndecided : SignerState::kCounts;
}

class Walker {
 public:
  Walker(const Lineage& lineage, std::span<const std::string> roles, Timestamp now)
      : index_(lineage.index()), roles_(roles), now_(now), sets_(index_.digests.size()) {}

  LineageWalk walk(const Names& names) {
    judge_manifests();
    join();
    walk_.start = sets_.find(index_.start);
    WalkedNode& start = node(walk_.start);
    start.names = names;
    while (!waiting_.empty()) {
      const std::size_t next = waiting_.front();
      waiting_.pop_front();
      queued_.erase(next);
      look_at(next);
    }
    for (const auto& [set, node] : walk_.nodes) {
      walk_.undecided = walk_.undecided || node.undecided || later_manifest(node);
    }
    return std::move(walk_);
  }

 private:
  enum class Count : std::uint8_t { kNo, kLater, kYes };

  void judge_manifests() {
    manifests_.resize(index_.statements.size(), Count::kNo);
    for (std::size_t s = 0; s < index_.statements.size(); ++s) {
      const LineageStatement& statement = *index_.statements[s].statement;
      if (!statement.manifest || statement.fact.withdrawn || statement.subjects.empty() ||
          statement.subjects.front().names.empty()) {
        continue;
      }
      const SigningContext context{KeyPurpose::kPublisher,
                                   {},
                                   std::string(kManifestPredicateType),
                                   statement.subjects.front().names.front()};
      for (const SignerFact& signer : statement.fact.signers) {
        if (check_grant(signer.key, context, signer.signed_at, now_)) {
          const bool counts = at_time(signer, now_) == SignerState::kCounts;
          manifests_[s] = std::max(manifests_[s], counts ? Count::kYes : Count::kLater);
        }
      }
    }
  }

  void join() {
    for (std::size_t s = 0; s < index_.statements.size(); ++s) {
      const std::vector<std::size_t>& subjects = index_.statements[s].subjects;
      for (std::size_t i = 1; manifests_[s] == Count::kYes && i < subjects.size(); ++i) {
        sets_.join(subjects.front(), subjects[i]);
      }
    }
    for (std::size_t digest = 0; digest < index_.digests.size(); ++digest) {
      members_[sets_.find(digest)].push_back(digest);
    }
  }

  // The node of a set; one that is new waits to be looked at.
  WalkedNode& node(std::size_t set) {
    const auto [it, added] = walk_.nodes.try_emplace(set);
    if (added) {
      WalkedNode& fresh = it->second;
      fresh.digests = members_.at(set);
      for (const std::size_t digest : fresh.digests) {
        for (const std::size_t s : index_.about[digest].manifests) {
          if (manifests_[s] == Count::kYes) {
            fresh.called.insert(index_.statements[s].statement->subjects.front().names.front());
          }
        }
      }
      wait(set);
    }
    return it->second;
  }

  bool later_manifest(const WalkedNode& node) const {
    return std::any_of(node.digests.begin(), node.digests.end(), [&](std::size_t digest) {
      const std::vector<std::size_t>& about = index_.about[digest].manifests;
      return std::any_of(about.begin(), about.end(),
                         [&](std::size_t s) { return manifests_[s] == Count::kLater; });
    });
  }

  // Another name can make more signatures count, never fewer.
  void call(std::size_t set, const LineageInput& input) {
    WalkedNode& parent = node(set);
    const std::size_t before = parent.names.size();
    if (input.name.empty()) {
      parent.unnamed = true;
    } else {
      parent.called.insert(input.name);
      named_[set].insert(input.name);
    }
    if (set != walk_.start) {
      parent.names = named_[set];
      if (parent.unnamed) {
        for (const std::size_t digest : parent.digests) {
          for (const std::size_t s : index_.about[digest].manifests) {
            if (manifests_[s] == Count::kYes) {
              parent.names.insert(index_.statements[s].statement->subjects.front().names.front());
            }
          }
        }
      }
      if (parent.names.size() != before) {
        wait(set);
      }
    }
  }

  // In the order in which they came: what many things were made from is looked at again once for
  // all of them.
  void wait(std::size_t set) {
    if (queued_.insert(set).second) {
      waiting_.push_back(set);
    }
  }

  bool follows(const LineageInput& input) const {
    return roles_.empty() || input.role == kDependencyRole ||
           std::find(roles_.begin(), roles_.end(), input.role) != roles_.end();
  }

  // Whether a role of the key covers every name that the statement gives to the node.
  bool covers(const SignerFact& signer, SigningContext context, std::size_t s,
              const WalkedNode& node) const {
    bool any = false;
    for (const std::size_t digest : node.digests) {
      for (const std::string& name : index_.names(s, digest)) {
        any = true;
        context.name = name.empty() ? std::string(kUnknownName) : name;
        if (!check_grant(signer.key, context, signer.signed_at, now_)) {
          return false;
        }
      }
    }
    context.name = kUnknownName;
    return any || check_grant(signer.key, context, signer.signed_at, now_).has_value();
  }

  static const Names& nobody() {
    static const Names names = {kUnknownName};
    return names;
  }

  std::vector<JudgedSigner> judge(std::size_t s, const WalkedNode& node) const {
    const StatementFact& fact = index_.statements[s].statement->fact;
    std::vector<JudgedSigner> judged;
    for (const SignerFact& signer : fact.signers) {
      JudgedSigner one{signer.key.identity, SignerState::kRejected, Reason::kRoleNotGranted};
      SigningContext context{KeyPurpose::kSigner, fact.stage, fact.predicate_type, {}};
      for (const std::string_view name :
           worth_asking(signer.key, node.names.empty() ? nobody() : node.names)) {
        context.name = name;
        const Status grant = check_grant(signer.key, context, signer.signed_at, now_);
        if (grant) {
          one.state = at_time(signer, now_);
          break;
        }
        if (grant.error().code != ErrorCode::kRoleNotGranted) {
          one.code = reason_of(grant.error().code);
        }
      }
      if (one.state != SignerState::kRejected && !covers(signer, context, s, node)) {
        one = {one.identity, SignerState::kRejected, Reason::kRoleNotGranted};
      }
      if (fact.withdrawn) {
        one = {one.identity, SignerState::kRejected, Reason::kStatementWithdrawn};
      }
      judged.push_back(one);
    }
    return judged;
  }

  static bool any(const std::vector<JudgedSigner>& signers, SignerState state) {
    return std::any_of(signers.begin(), signers.end(),
                       [state](const JudgedSigner& signer) { return signer.state == state; });
  }

  void look_at(std::size_t set) {
    WalkedNode& here = node(set);
    std::set<std::size_t> about;
    for (const std::size_t digest : here.digests) {
      about.insert(index_.about[digest].statements.begin(), index_.about[digest].statements.end());
    }
    std::vector<WalkedStatement> counted;
    here.undecided = false;
    for (const std::size_t s : about) {
      std::vector<JudgedSigner> signers = judge(s, here);
      if (!any(signers, SignerState::kCounts)) {
        here.undecided = here.undecided || any(signers, SignerState::kUndecided);
      } else {
        counted.push_back({&index_.statements[s], std::move(signers), inputs_of(s, set)});
      }
    }
    std::set<std::size_t> parents;
    for (const WalkedStatement& statement : counted) {
      for (const WalkedInput& input : statement.inputs) {
        for (const std::size_t parent : input.nodes) {
          parents.insert(parent);
          call(parent, *input.input);
        }
      }
    }
    here.parents.assign(parents.begin(), parents.end());
    here.statements = std::move(counted);
  }

  std::vector<WalkedInput> inputs_of(std::size_t s, std::size_t child) {
    std::vector<WalkedInput> inputs;
    for (const LineageIndex::Input& input : index_.statements[s].inputs) {
      if (!follows(*input.input)) {
        continue;
      }
      std::set<std::size_t> nodes;
      for (const std::size_t digest : input.digests) {
        nodes.insert(sets_.find(digest));
      }
      inputs.push_back({input.input, child, {nodes.begin(), nodes.end()}});
    }
    return inputs;
  }

  const LineageIndex& index_;
  std::span<const std::string> roles_;
  Timestamp now_;
  DigestSets sets_;
  std::vector<Count> manifests_;                             // of each statement
  std::map<std::size_t, std::vector<std::size_t>> members_;  // digests of each set
  std::map<std::size_t, std::set<std::string_view>> named_;  // by inputs that count
  std::deque<std::size_t> waiting_;
  std::set<std::size_t> queued_;  // those that wait
  LineageWalk walk_;
};

}  // namespace

bool WalkedNode::has_inputs() const {
  return std::any_of(statements.begin(), statements.end(),
                     [](const WalkedStatement& one) { return !one.inputs.empty(); });
}

bool WalkedNode::is_collected() const {
  return std::any_of(statements.begin(), statements.end(), [](const WalkedStatement& one) {
    return one.statement->makes && one.statement->statement->fact.stage == "collect";
  });
}

LineageWalk walk_lineage(const Lineage& lineage, std::span<const std::string> roles,
                         const Names& names, Timestamp now) {
  return Walker(lineage, roles, now).walk(names);
}

}  // namespace assay::policy
