// SPDX-License-Identifier: Apache-2.0
#include "policy/signers.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "schemas/manifest.h"
#include "schemas/placement.h"

namespace assay::policy {
namespace {

// Stands for the name of an artifact that has none: no model name, so only "*" covers it.
constexpr std::string_view kUnknownName = "?";

using Names = std::set<std::string_view>;

// The names to ask check_grant about: for each role one name that its pattern covers, if there is
// one, so that the cost does not depend on how many names an artifact has. At least one name, so
// that there is an answer.
Names worth_asking(const TrustedKey& key, const Names& names) {
  Names some = {*names.begin()};
  for (const SignerRole& role : key.roles) {
    if (names.contains(role.name_space)) {
      some.insert(role.name_space);
    }
    const std::string below = role.name_space + "/";
    const auto it = names.lower_bound(below);
    if (it != names.end() && it->starts_with(below)) {
      some.insert(*it);
    }
  }
  return some;
}

JudgedSigner judge(const SignerFact& signer, SigningContext context, const Names& names,
                   Timestamp now) {
  Reason code = Reason::kRoleNotGranted;
  for (const std::string_view name : worth_asking(signer.key, names)) {
    context.name = name;
    const Status grant = check_grant(signer.key, context, signer.signed_at, now);
    if (grant) {
      return signer.signed_at > now ? JudgedSigner{signer.key.identity, SignerState::kUndecided,
                                                   Reason::kConditionUndecided}
                                    : JudgedSigner{signer.key.identity, SignerState::kCounts, code};
    }
    if (grant.error().code != ErrorCode::kRoleNotGranted) {
      code = reason_of(grant.error().code);
    }
  }
  return {signer.key.identity, SignerState::kRejected, code};
}

// Thousands of statements may have few signers. What check_grant says of a key depends on the time
// of the signature only by whether it lies before, in or after the validity of the key.
class Grants {
 public:
  Grants(const Names& names, Timestamp now) : names_(names), now_(now) {}

  JudgedSigner judge(const StatementFact& fact, const SignerFact& signer) {
    const Asked asked{&signer.key, fact.stage, fact.predicate_type, place_of(signer)};
    std::vector<std::pair<Asked, JudgedSigner>>& known = known_[signer.key.id];
    for (const auto& [before, judged] : known) {
      if (before == asked) {
        return {signer.key.identity, judged.state, judged.code};
      }
    }
    const SigningContext context{KeyPurpose::kSigner, fact.stage, fact.predicate_type, {}};
    return known.emplace_back(asked, policy::judge(signer, context, names_, now_)).second;
  }

 private:
  enum class Place : std::uint8_t { kBefore, kIn, kAfter, kFuture };

  struct Asked {
    const TrustedKey* key;
    std::string_view stage;
    std::string_view predicate_type;
    Place place;
    bool operator==(const Asked& other) const {
      return place == other.place && stage == other.stage &&
             predicate_type == other.predicate_type && (key == other.key || *key == *other.key);
    }
  };

  [[nodiscard]] Place place_of(const SignerFact& signer) const {
    if (signer.signed_at < signer.key.not_before) {
      return Place::kBefore;
    }
    if (signer.signed_at > signer.key.not_after) {
      return Place::kAfter;
    }
    return signer.signed_at > now_ ? Place::kFuture : Place::kIn;
  }

  const Names& names_;
  Timestamp now_;
  std::map<KeyId, std::vector<std::pair<Asked, JudgedSigner>>> known_;
};

JudgedStatement judge(const StatementFact& fact, Grants& grants) {
  JudgedStatement judged{&fact, {}};
  judged.signers.reserve(fact.signers.size());
  for (const SignerFact& signer : fact.signers) {
    judged.signers.push_back(grants.judge(fact, signer));
  }
  return judged;
}

JudgedStatement judge(const StatementFact& fact, const SigningContext& context, const Names& names,
                      Timestamp now) {
  JudgedStatement judged{&fact, {}};
  judged.signers.reserve(fact.signers.size());
  for (const SignerFact& signer : fact.signers) {
    judged.signers.push_back(judge(signer, context, names, now));
  }
  return judged;
}

bool counts(const JudgedSigner& signer) { return signer.state == SignerState::kCounts; }

// Order of the log; ids only matter for facts that no log could hold.
bool earlier(const StatementFact& a, const StatementFact& b) {
  return std::tie(a.log_index, a.id) < std::tie(b.log_index, b.id);
}

Json texts(const std::set<std::string_view>& values) {
  Json list = Json::array();
  for (const std::string_view value : values) {
    list.push_back(value);
  }
  return list;
}

}  // namespace

bool JudgedStatement::has_signer() const {
  return std::any_of(signers.begin(), signers.end(), [](const JudgedSigner& signer) {
    return signer.state != SignerState::kRejected;
  });
}

JudgedFacts judge_signers(const Facts& facts, Timestamp now) {
  JudgedFacts judged;
  judged.tests = facts.tests;
  for (const ManifestFact& manifest : facts.manifests) {
    judged.manifests.push_back(&manifest);
  }
  std::sort(judged.manifests.begin(), judged.manifests.end(),
            [](const auto* a, const auto* b) { return earlier(a->statement, b->statement); });
  // A manifest may name the artifact beside its own root (design: digests are joined by a manifest
  // that names both). A subject has one root for each hash, so the hash tells which of them it is.
  std::copy_if(judged.manifests.begin(), judged.manifests.end(),
               std::back_inserter(judged.own_manifests), [&facts](const ManifestFact* manifest) {
                 return facts.artifact &&
                        facts.artifact->root().algorithm() == manifest->parameters.hash;
               });
  for (const ManifestFact* manifest : judged.manifests) {
    const SigningContext context{
        KeyPurpose::kPublisher, {}, std::string(kManifestPredicateType), {}};
    JudgedStatement one = judge(manifest->statement, context, {manifest->name}, now);
    if (std::any_of(one.signers.begin(), one.signers.end(), counts)) {
      judged.names.insert(manifest->name);
    }
    judged.manifest_statements.push_back(std::move(one));
  }
  for (const PlacementFact& placement : facts.placements) {
    if (!facts.artifact) {
      break;  // then they are about nothing
    }
    judged.placements.push_back(&placement);
  }
  std::sort(judged.placements.begin(), judged.placements.end(),
            [](const auto* a, const auto* b) { return earlier(a->statement, b->statement); });
  for (const PlacementFact* placement : judged.placements) {
    const SigningContext context{
        KeyPurpose::kPublisher, {}, std::string(kPlacementPredicateType), {}};
    judged.placement_statements.push_back(
        judge(placement->statement, context, {placement->name}, now));
  }
  const Names unknown = {kUnknownName};
  const Names& names = judged.names.empty() ? unknown : judged.names;
  judged.statements.reserve(facts.statements.size());
  Grants grants(names, now);
  for (const StatementFact& fact : facts.statements) {
    judged.statements.push_back(judge(fact, grants));
  }
  const auto before = [](const auto& a, const auto& b) { return earlier(*a.fact, *b.fact); };
  if (!std::is_sorted(judged.statements.begin(), judged.statements.end(), before)) {
    std::sort(judged.statements.begin(), judged.statements.end(), before);
  }
  return judged;
}

TestOutcome test_of(const JudgedFacts& facts, const StatementFact& statement,
                    const PredicateTest& test) {
  return facts.tests == nullptr ? run(test, statement.predicate)
                                : facts.tests->run(statement, test);
}

Tally::Tally(const SignerRequirement& requirement)
    : needed_(std::max<std::size_t>(requirement.at_least, 1)),
      listed_(requirement.identities.begin(), requirement.identities.end()) {}

bool Tally::listed(std::string_view identity) const {
  return listed_.empty() || listed_.contains(identity);
}

void Tally::note_rejected(const JudgedStatement& statement) {
  for (const JudgedSigner& signer : statement.signers) {
    if (signer.state == SignerState::kRejected) {
      rejected_.emplace(signer.identity, info(signer.code).code);
      if (listed(signer.identity)) {
        rejections_.insert(signer.code);
      }
    }
  }
}

void Tally::add(const JudgedStatement& statement) {
  note_rejected(statement);
  for (const JudgedSigner& signer : statement.signers) {
    if (signer.state == SignerState::kRejected) {
      continue;
    }
    if (!listed(signer.identity)) {
      unlisted_.insert(signer.identity);
    } else if (counts(signer)) {
      counted_.insert(signer.identity);
    } else {
      undecided_.insert(signer.identity);
    }
  }
}

void Tally::add_undecided(const JudgedStatement& statement) {
  note_rejected(statement);
  for (const JudgedSigner& signer : statement.signers) {
    if (signer.state != SignerState::kRejected && listed(signer.identity)) {
      undecided_.insert(signer.identity);
    }
  }
}

Outcome Tally::outcome() const {
  if (counted_.size() >= needed_) {
    return Outcome::kPass;
  }
  const auto more = std::count_if(undecided_.begin(), undecided_.end(),
                                  [&](std::string_view who) { return !counted_.contains(who); });
  return counted_.size() + static_cast<std::size_t>(more) >= needed_ ? Outcome::kError
                                                                     : Outcome::kFail;
}

Reason Tally::failure() const {
  return counted_.empty() && undecided_.empty() && rejections_.size() == 1
             ? *rejections_.begin()
             : Reason::kSignersInsufficient;
}

Json Tally::expected() const { return {{"at_least", needed_}, {"identities", texts(listed_)}}; }

Json Tally::actual() const {
  Json json = {{"identities", texts(counted_)}, {"rejected", Json::array()}};
  for (const auto& [identity, code] : rejected_) {
    json["rejected"].push_back({{"identity", identity}, {"code", code}});
  }
  if (!unlisted_.empty()) {
    json["unlisted"] = texts(unlisted_);
  }
  if (!undecided_.empty()) {
    json["undecided"] = texts(undecided_);
  }
  return json;
}

}  // namespace assay::policy
