// SPDX-License-Identifier: Apache-2.0
#include "policy/lineage/walk.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "schemas/manifest.h"
#include "schemas/stages.h"

namespace assay::policy {
namespace {

SignerState at_time(const SignerFact& signer, Timestamp now) {
  return signer.signed_at > now ? SignerState::kUndecided : SignerState::kCounts;
}

// Rounds in which joins are dropped; each takes away at least one.
constexpr std::size_t kMaxRounds = 16;

class Walker {
 public:
  Walker(const Lineage& lineage, const LineageCondition& condition, const PublisherDemands& demands,
         Timestamp now, Patience& patience, Withdrawn withdrawn)
      : index_(lineage.index()),
        condition_(condition),
        demands_(demands),
        now_(now),
        patience_(patience),
        withdrawn_(withdrawn) {}

  LineageWalk walk(const Names& names) {
    start_names_ = names;
    judge_manifests();
    for (std::size_t round = 0;; ++round) {
      walk_once();
      if (!drop_manifests()) {
        break;
      }
      if (round == kMaxRounds) {
        walk_.undecided = true;
        break;
      }
    }
    for (auto& [set, node] : walk_.nodes) {
      if (patience_.ends()) {
        break;
      }
      walk_.undecided = walk_.undecided || node.undecided || later_manifest(node);
      add_beside(node);
    }
    return std::move(walk_);
  }

 private:
  enum class Count : std::uint8_t { kNo, kLater, kYes };
  // What one manifest does for the policy.
  struct Publication {
    Count names = Count::kNo;  // names its digests
    Count joins = Count::kNo;  // joins its digests
  };

  bool is_left_out(const StatementFact& fact) const {
    return withdrawn_ == Withdrawn::kLeftOut && is_withdrawn(fact);
  }
  bool is_left_out(const StatementFact& fact, const SignerFact& signer) const {
    return withdrawn_ == Withdrawn::kLeftOut && took_back(fact, signer.key.identity);
  }

  // Whether those signers of a manifest meet the policy's demands who may publish under its own
  // name and under all of `names`.
  Count published(std::size_t s, const Names& names) const {
    const LineageStatement& statement = *index_.statements[s].statement;
    if (!statement.manifest || is_left_out(statement.fact) || statement.subjects.empty() ||
        statement.subjects.front().names.empty() || patience_.ends()) {
      return Count::kNo;
    }
    std::vector<JudgedSigner> signers;
    for (const SignerFact& signer : statement.fact.signers) {
      const bool granted = !is_left_out(statement.fact, signer) &&
                           may_publish(signer, statement.subjects.front().names.front()) &&
                           std::all_of(names.begin(), names.end(), [&](std::string_view name) {
                             return may_publish(signer, name);
                           });
      signers.push_back({signer.key.identity,
                         granted ? at_time(signer, now_) : SignerState::kRejected,
                         Reason::kRoleNotGranted});
    }
    switch (meets({&statement.fact, signers}, demands_)) {
      case Outcome::kPass:
        return Count::kYes;
      case Outcome::kError:
        return Count::kLater;
      default:
        return Count::kNo;
    }
  }

  bool may_publish(const SignerFact& signer, std::string_view name) const {
    const SigningContext context{
        KeyPurpose::kPublisher, {}, std::string(kManifestPredicateType), std::string(name)};
    return check_grant(signer.key, context, signer.signed_at, now_).has_value();
  }

  void judge_manifests() {
    manifests_.resize(index_.statements.size());
    for (std::size_t s = 0; s < index_.statements.size(); ++s) {
      const Count count = demands_.empty() ? Count::kNo : published(s, {});
      manifests_[s] = {count, could_join(index_, s) ? count : Count::kNo};
    }
  }

  // A manifest counts only if its publishers may speak of whatever counted statements call its
  // digests. Returns whether a manifest no longer does what it did in the last round.
  bool drop_manifests() {
    std::map<std::size_t, Names> called;  // of each digest, by inputs
    std::map<std::size_t, Names> given;   // and by the statements about it
    for (const auto& [set, node] : walk_.nodes) {
      for (const WalkedStatement& statement : node.statements) {
        const std::size_t s = static_cast<std::size_t>(statement.statement - &index_.statements[0]);
        if (patience_.ends()) {
          return false;
        }
        for (const std::size_t digest : node.digests) {
          const std::vector<std::string>& names = index_.names(s, digest);
          given[digest].insert(names.begin(), names.end());
        }
        for (const WalkedInput& input : statement.inputs) {
          for (const std::size_t digest : input.digests) {
            called[digest].insert(input.input->name);
          }
        }
      }
    }
    bool dropped = false;
    for (std::size_t s = 0; s < manifests_.size() && !patience_.over(); ++s) {
      Publication& manifest = manifests_[s];
      if (manifest.names == Count::kNo) {
        continue;
      }
      Names names;
      const auto add = [&](std::map<std::size_t, Names>& from) {
        for (const std::size_t digest : index_.statements[s].subjects) {
          if (const auto found = from.find(digest); found != from.end()) {
            names.insert(found->second.begin(), found->second.end());
          }
        }
        names.erase("");
      };
      add(called);
      const Publication before = manifest;
      manifest.names = std::min(manifest.names, names.empty() ? before.names : published(s, names));
      add(given);
      manifest.joins = std::min(manifest.joins, names.empty() || manifest.joins == Count::kNo
                                                    ? before.joins
                                                    : published(s, names));
      if (manifest.joins != Count::kNo && !may_join_start(s)) {
        manifest.joins = Count::kNo;
      }
      dropped = dropped || manifest.names != before.names || manifest.joins != before.joins;
    }
    return dropped && !patience_.over();
  }

  // The names of the start are not those of inputs. A manifest that says what else the start is
  // must be of publishers of one of them.
  bool may_join_start(std::size_t s) const {
    const std::span<const std::size_t> subjects = index_.statements[s].subjects;
    return std::find(subjects.begin(), subjects.end(), index_.start) == subjects.end() ||
           std::any_of(start_names_.begin(), start_names_.end(),
                       [&](std::string_view name) { return published(s, {name}) != Count::kNo; });
  }

  void join() {
    std::vector<bool> joins;
    joins.reserve(manifests_.size());
    for (const Publication& manifest : manifests_) {
      joins.push_back(manifest.joins == Count::kYes);
    }
    set_of_ = joined_things(index_, joins);
    members_.clear();
    for (std::size_t digest = 0; digest < set_of_.size(); ++digest) {
      members_[set_of_[digest]].push_back(digest);
    }
  }

  void walk_once() {
    walk_ = {};
    named_.clear();
    waiting_.clear();
    queued_.clear();
    join();
    walk_.start = set_of_[index_.start];
    node(walk_.start).names = start_names_;
    while (!waiting_.empty() && !patience_.ends()) {
      const std::size_t next = waiting_.front();
      waiting_.pop_front();
      queued_.erase(next);
      look_at(next);
    }
  }

  // The node of a set; one that is new waits to be looked at.
  WalkedNode& node(std::size_t set) {
    const auto [it, added] = walk_.nodes.try_emplace(set);
    if (added) {
      it->second.digests = members_.at(set);
      wait(set);
    }
    return it->second;
  }

  template <typename Use>
  void for_manifests(const std::vector<std::size_t>& digests, const Use& use) const {
    for (const std::size_t digest : digests) {
      for (const std::size_t s : index_.about[digest].manifests) {
        use(s);
      }
    }
  }

  bool later_manifest(const WalkedNode& node) const {
    bool later = false;
    for_manifests(node.digests, [&](std::size_t s) {
      later = later || manifests_[s].names == Count::kLater || manifests_[s].joins == Count::kLater;
    });
    return later;
  }

  // What believed publishers say is the same, whether or not it is joined.
  void add_beside(WalkedNode& node) const {
    std::set<std::size_t> seen(node.digests.begin(), node.digests.end());
    std::vector<std::size_t> open = node.digests;
    while (!open.empty()) {
      std::vector<std::size_t> next;
      for_manifests(open, [&](std::size_t s) {
        const LineageIndex::Statement& manifest = index_.statements[s];
        if (manifests_[s].joins == Count::kNo || patience_.ends()) {
          return;
        }
        for (const LineageSubject& subject : manifest.statement->subjects) {
          node.beside.insert(subject.digest);
        }
        for (const std::size_t digest : manifest.subjects) {
          if (seen.insert(digest).second) {
            next.push_back(digest);
          }
        }
      });
      open = std::move(next);
    }
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
    if (set == walk_.start) {
      return;
    }
    parent.names = named_[set];
    if (parent.unnamed) {
      for_manifests(parent.digests, [&](std::size_t s) {
        if (manifests_[s].names == Count::kYes) {
          parent.names.insert(index_.statements[s].statement->subjects.front().names.front());
        }
      });
    }
    if (parent.names.size() != before) {
      wait(set);
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
    const std::vector<std::string>& roles = condition_.roles;
    return roles.empty() || input.role == kDependencyRole ||
           std::find(roles.begin(), roles.end(), input.role) != roles.end();
  }

  bool makes(const LineageIndex::Statement& statement) const {
    const std::string& stage = statement.statement->fact.stage;
    return statement.makes &&
           (surely_makes_subjects(*statement.statement) ||
            std::find(condition_.stages.begin(), condition_.stages.end(), stage) !=
                condition_.stages.end() ||
            std::any_of(condition_.edges.begin(), condition_.edges.end(),
                        [&](const LineageEdgeRule& edge) { return edge.stage == stage; }));
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
      if (is_left_out(fact, signer)) {
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
      if (patience_.ends()) {
        return;
      }
      std::vector<JudgedSigner> signers = judge(s, here);
      if (!any(signers, SignerState::kCounts)) {
        here.undecided = here.undecided || any(signers, SignerState::kUndecided);
      } else {
        counted.push_back({&index_.statements[s], std::move(signers), inputs_of(s, set),
                           makes(index_.statements[s])});
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
        nodes.insert(set_of_[digest]);
      }
      inputs.push_back({input.input, child, input.digests, {nodes.begin(), nodes.end()}});
    }
    return inputs;
  }

  const LineageIndex& index_;
  const LineageCondition& condition_;
  const PublisherDemands& demands_;
  Timestamp now_;
  Patience& patience_;
  Withdrawn withdrawn_;
  Names start_names_;
  std::vector<Publication> manifests_;                       // of each statement
  std::vector<std::size_t> set_of_;                          // of each digest
  std::map<std::size_t, std::vector<std::size_t>> members_;  // digests of each set
  std::map<std::size_t, std::set<std::string_view>> named_;  // by inputs that count
  std::deque<std::size_t> waiting_;
  std::set<std::size_t> queued_;  // those that wait
  LineageWalk walk_;
};

}  // namespace

bool WalkedNode::has_inputs() const {
  return std::any_of(statements.begin(), statements.end(),
                     [](const WalkedStatement& one) { return one.makes && !one.inputs.empty(); });
}

bool WalkedNode::is_collected() const {
  return std::any_of(statements.begin(), statements.end(), [](const WalkedStatement& one) {
    return one.statement->makes &&
           effect_of(one.statement->statement->fact.stage) == StageEffect::kBegins;
  });
}

LineageWalk walk_lineage(const Lineage& lineage, const LineageCondition& condition,
                         const PublisherDemands& demands, const Names& names, Timestamp now,
                         Patience& patience, Withdrawn withdrawn) {
  return Walker(lineage, condition, demands, now, patience, withdrawn).walk(names);
}

}  // namespace assay::policy
