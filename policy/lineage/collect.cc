// SPDX-License-Identifier: Apache-2.0
// Searches for the statements of a lineage, breadth first.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "policy/lineage/index.h"
#include "policy/signers.h"
#include "schemas/manifest.h"

namespace assay::policy {
namespace {

// Whether all digests of a manifest but one can be something else than a tree of their own.
bool may_join(const LineageStatement& manifest) {
  return std::count_if(manifest.subjects.begin(), manifest.subjects.end(),
                       [](const LineageSubject& one) { return is_tree(one.digest); }) == 1;
}

// What the statement adds to the work of those who walk the lineage: itself for each subject, and
// each digest that went in. The limit on statements bounds narrow ones, so that wide ones of
// strangers take nothing from them.
std::size_t edges_of(const LineageStatement& statement) {
  std::size_t edges = 1;
  if (makes_subjects(statement)) {
    for (const LineageInput& input : statement.inputs) {
      edges += input.digests.size();
    }
  }
  edges *= statement.subjects.size();
  constexpr std::size_t kNarrow = 64;
  return edges <= kNarrow ? 0 : edges;
}

// Ids are compared where they lie.
struct HashOfId {
  std::size_t operator()(const StatementId* id) const { return std::hash<StatementId>()(*id); }
};
struct SameId {
  bool operator()(const StatementId* a, const StatementId* b) const { return *a == *b; }
};

class Search {
 public:
  Search(const LineageSource& source, LineageDirection direction, const LineageLimits& limits,
         LineageWhose whose)
      : source_(source),
        down_(direction == LineageDirection::kDown),
        all_(down_ || whose == LineageWhose::kAll),
        limits_(limits) {}

  // `start` must outlive the object.
  Result<std::shared_ptr<const Lineage>> from(const std::string& start) {
    visit(start, 0, nullptr, false);
    while (!waiting_.empty()) {
      Place& place = *waiting_.front();
      waiting_.pop_front();
      const std::string& digest = *place.digest;
      place.waits = false;
      if (!place.read) {
        ASSAY_ASSIGN(place.about, source_.about(digest));
        place.read = true;
      }
      look_at(digest, place);
      if (down_) {
        ASSAY_ASSIGN(const auto uses, source_.from(digest));
        for (const auto& statement : uses) {
          if (take(digest, statement) && makes_subjects(*statement)) {
            visit_subjects(*statement, place, place.depth + 1, false);
          }
        }
      }
    }
    LineageRest rest{asides(), {cut_.begin(), cut_.end()}};
    return Lineage::make(start, std::move(found_),
                         std::vector<std::string>(reached_.begin(), reached_.end()),
                         std::move(rest));
  }

 private:
  // A digest, and the names under which its makers may be believed.
  struct Place {
    const std::string* digest = nullptr;  // of a statement that is kept, or the start
    std::size_t depth = 0;
    Names names{};         // that inputs give it, and manifests when it is unnamed
    bool called = false;   // an input gives it a name
    bool unnamed = false;  // the start, or an input without name
    bool waits = false;
    bool read = false;
    Lineage::Statements about{};
  };

  // Another name can make more statements count, never fewer. `name`: nullptr for none. What is one
  // thing with another is looked at before what is further away.
  void visit(const std::string& digest, std::size_t depth, const std::string* name, bool same) {
    Place* place = reach(digest, depth);
    if (place == nullptr) {
      return;
    }
    const bool has_name = name != nullptr && !name->empty();
    bool more = !place->read;
    if (has_name) {
      more = place->names.insert(*name).second || more;
      place->called = true;
    } else {
      more = more || !place->unnamed;
      place->unnamed = true;
    }
    wait(*place, more, same);
  }

  // The other digests of one thing have its names.
  void visit_same(const std::string& digest, const Place& from) {
    Place* place = reach(digest, from.depth);
    if (place == nullptr || place == &from) {
      return;
    }
    const std::size_t before = place->names.size();
    place->names.insert(from.names.begin(), from.names.end());
    const bool more =
        !place->read || place->names.size() > before || (from.unnamed && !place->unnamed);
    place->called = place->called || from.called;
    place->unnamed = place->unnamed || from.unnamed;
    wait(*place, more, true);
  }

  Place* reach(const std::string& digest, std::size_t depth) {
    if (!is_strong_digest(digest)) {
      return nullptr;
    }
    if (const auto found = places_.find(digest); found != places_.end()) {
      return &found->second;
    }
    if (depth > limits_.depth || places_.size() >= limits_.digests) {
      reached_.insert(depth > limits_.depth ? "depth" : "digests");
      cut_.insert(digest);
      return nullptr;
    }
    Place& place = places_[digest];
    place.digest = &digest;
    place.depth = depth;
    return &place;
  }

  void wait(Place& place, bool more, bool same) {
    if (more && !place.waits) {
      place.waits = true;
      same ? waiting_.push_front(&place) : waiting_.push_back(&place);
    }
  }

  // False when there is no room for the statement, which is about `digest`.
  bool take(const std::string& digest, const std::shared_ptr<const LineageStatement>& statement) {
    if (taken_.contains(&statement->fact.id)) {
      return true;
    }
    const std::size_t edges = edges_of(*statement);
    const bool too_wide = edges > limits_.edges - edges_;
    if (too_wide || found_.size() >= limits_.statements) {
      reached_.insert(too_wide ? "edges" : "statements");
      cut_.insert(digest);
      return false;
    }
    edges_ += edges;
    taken_.insert(&statement->fact.id);
    found_.push_back(statement);
    return true;
  }

  void look_at(const std::string& digest, Place& place) {
    if (!all_ && place.unnamed) {
      for (const auto& one : place.about) {
        if (one->manifest && may_publish(*one, nullptr)) {
          place.names.insert(one->subjects.front().names.front());
        }
      }
    }
    for (const auto& one : place.about) {
      if (!may_count(*one, place) || !take(digest, one)) {
        continue;
      }
      if (one->manifest) {
        if (all_ || may_join(*one)) {
          visit_subjects(*one, place, place.depth, true);
        }
      } else if (!down_ && makes_subjects(*one)) {
        for (const LineageInput& input : one->inputs) {
          for (const std::string& parent : input.digests) {
            visit(parent, place.depth + 1, &input.name, false);
          }
        }
      }
    }
  }

  void visit_subjects(const LineageStatement& statement, const Place& place, std::size_t depth,
                      bool same) {
    for (const LineageSubject& subject : statement.subjects) {
      same ? visit_same(subject.digest, place) : visit(subject.digest, depth, nullptr, false);
    }
  }

  // Withdrawn or not: what it said went in is compared with deny lists.
  bool may_count(const LineageStatement& statement, const Place& place) const {
    if (all_) {
      return true;
    }
    if (statement.manifest) {
      return place.unnamed ? may_publish(statement, nullptr) : may_publish(statement, &place.names);
    }
    static const Names nobody = {kUnknownName};
    const Names& names = place.names.empty() ? nobody : place.names;
    const StatementFact& fact = statement.fact;
    return std::any_of(fact.signers.begin(), fact.signers.end(), [&](const SignerFact& signer) {
      return granted(signer, names, {KeyPurpose::kSigner, fact.stage, fact.predicate_type, {}});
    });
  }

  // Under the manifest's own name and, unless `names` is null, under one of these.
  static bool may_publish(const LineageStatement& manifest, const Names* names) {
    if (manifest.subjects.empty() || manifest.subjects.front().names.empty()) {
      return false;
    }
    const SigningContext context{
        KeyPurpose::kPublisher, {}, std::string(kManifestPredicateType), {}};
    const Names own = {manifest.subjects.front().names.front()};
    return std::any_of(manifest.fact.signers.begin(), manifest.fact.signers.end(),
                       [&](const SignerFact& signer) {
                         return granted(signer, own, context) &&
                                (names == nullptr || granted(signer, *names, context));
                       });
  }

  // At any time: a key that was revoked stays so.
  static bool granted(const SignerFact& signer, const Names& names, SigningContext context) {
    if (names.empty()) {
      return false;
    }
    const Names some = worth_asking(signer.key, names);
    return std::any_of(some.begin(), some.end(), [&](std::string_view name) {
      context.name = name;
      return check_grant(signer.key, context, signer.signed_at, Timestamp::max()).has_value();
    });
  }

  // What was not taken, by digest and key.
  std::vector<LineageAside> asides() const {
    std::vector<LineageAside> asides;
    for (const auto& [digest, place] : places_) {
      std::map<KeyId, LineageAside> by_key;
      for (const auto& one : place.about) {
        if (!all_ && !taken_.contains(&one->fact.id) && !cut_.contains(*place.digest)) {
          for (const SignerFact& signer : one->fact.signers) {
            const auto [it, added] = by_key.try_emplace(
                signer.key.id,
                LineageAside{*place.digest, signer.key.id, signer.key.identity, {}, 0, false});
            add(*one, it->second);
          }
        }
      }
      for (auto& [key, aside] : by_key) {
        std::sort(aside.names.begin(), aside.names.end());
        asides.push_back(std::move(aside));
      }
    }
    return asides;
  }

  static void add(const LineageStatement& statement, LineageAside& aside) {
    ++aside.statements;
    aside.makes = aside.makes || statement.manifest || makes_subjects(statement);
    const auto& subjects = statement.subjects;
    const auto subject =
        std::ranges::lower_bound(subjects, aside.digest, {}, &LineageSubject::digest);
    if (subject == subjects.end() || subject->digest != aside.digest) {
      return;
    }
    for (const std::string& name : subject->names) {
      if (!name.empty() && aside.names.size() < LineageAside::kMaxNames &&
          std::find(aside.names.begin(), aside.names.end(), name) == aside.names.end()) {
        aside.names.push_back(name);
      }
    }
  }

  const LineageSource& source_;
  bool down_;
  bool all_;
  const LineageLimits& limits_;
  std::deque<Place*> waiting_;
  std::unordered_map<std::string_view, Place> places_;  // by Place::digest; a place never moves
  std::unordered_set<const StatementId*, HashOfId, SameId> taken_;
  Lineage::Statements found_;
  std::size_t edges_ = 0;  // of those found
  std::set<std::string> reached_;
  std::set<std::string> cut_;
};

}  // namespace

Result<std::shared_ptr<const Lineage>> collect_lineage(const std::string& start,
                                                       const LineageSource& source,
                                                       LineageDirection direction,
                                                       const LineageLimits& limits,
                                                       LineageWhose whose) {
  return Search(source, direction, limits, whose).from(start);
}

}  // namespace assay::policy
