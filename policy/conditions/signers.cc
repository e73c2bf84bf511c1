// SPDX-License-Identifier: Apache-2.0
// Whose signatures count, and how many identities that makes.
#include "policy/signers.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "schemas/manifest.h"
#include "schemas/placement.h"

namespace assay::policy {
namespace {

// Whether the signature counts once its time has come.
JudgedSigner judge(const SignerFact& signer, SigningContext context, const Names& names,
                   Timestamp now) {
  Reason code = Reason::kRoleNotGranted;
  for (const std::string_view name : worth_asking(signer.key, names)) {
    context.name = name;
    const Status grant = check_grant(signer.key, context, signer.signed_at, now);
    if (grant) {
      return {signer.key.identity, SignerState::kCounts, code};
    }
    if (grant.error().code != ErrorCode::kRoleNotGranted) {
      code = reason_of(grant.error().code);
    }
  }
  return {signer.key.identity, SignerState::kRejected, code};
}

JudgedSigner at_time(JudgedSigner judged, Timestamp signed_at, Timestamp now) {
  judged.signed_at = signed_at;
  if (judged.state == SignerState::kCounts && signed_at > now) {
    judged.state = SignerState::kUndecided;
    judged.code = Reason::kConditionUndecided;
  }
  return judged;
}

JudgedSigner with(JudgedSigner judged, const CertificateUse* certificate) {
  judged.certificate = certificate;
  return judged;
}

JudgedSigner unless_withdrawn(JudgedSigner judged, const StatementFact& statement) {
  if (took_back(statement, judged.identity)) {
    judged.state = SignerState::kRejected;
    judged.code = Reason::kStatementWithdrawn;
  }
  return judged;
}

// One signature stands for all that are alike.
JudgedSigner judge(const StatementIndex::Alike& alike, const Names& names, Timestamp now) {
  const StatementFact& statement = *alike.statement;
  JudgedSigner judged =
      judge(*alike.signer, {KeyPurpose::kSigner, statement.stage, statement.predicate_type, {}},
            names, now);
  if (judged.state == SignerState::kCounts && !alike.covers_names) {
    judged = {judged.identity, SignerState::kRejected, Reason::kRoleNotGranted};
  }
  return judged;
}

JudgedStatement judge(const StatementFact& fact, const SigningContext& context, const Names& names,
                      Timestamp now, JudgedFacts& judged) {
  std::vector<JudgedSigner> signers;
  signers.reserve(fact.signers.size());
  for (const SignerFact& signer : fact.signers) {
    const JudgedSigner one = at_time(judge(signer, context, names, now), signer.signed_at, now);
    const CertificateUse* certificate = signer.certificate ? &*signer.certificate : nullptr;
    signers.push_back(with(unless_withdrawn(one, fact), certificate));
  }
  judged.signers.push_back(std::move(signers));
  return {&fact, judged.signers.back()};
}

bool is_joined(const StatementFact& statement, const Believed& believed) {
  return statement.joined_by.empty() ||
         std::any_of(statement.joined_by.begin(), statement.joined_by.end(),
                     [&believed](const StatementId& id) { return believed.contains(id); });
}

JudgedSigner if_joined(JudgedSigner judged, bool joined) {
  return joined ? judged
                : JudgedSigner{judged.identity, SignerState::kRejected, Reason::kManifestMissing,
                               judged.signed_at};
}

bool counts(const JudgedSigner& signer) { return signer.state == SignerState::kCounts; }

Json texts(const Names& values) {
  Json list = Json::array();
  for (const std::string_view value : values) {
    list.push_back(value);
  }
  return list;
}

}  // namespace

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

bool JudgedStatement::has_signer() const {
  return std::any_of(signers.begin(), signers.end(), [](const JudgedSigner& signer) {
    return signer.state != SignerState::kRejected;
  });
}

JudgedFacts judge_signers(const Facts& facts, Timestamp now) {
  JudgedFacts judged;
  judged.tests = facts.tests;
  judged.now = now;
  judged.horizon.now = now;
  for (const ManifestFact& manifest : facts.manifests) {
    judged.manifests.push_back(&manifest);
  }
  std::sort(judged.manifests.begin(), judged.manifests.end(),
            [](const auto* a, const auto* b) { return is_earlier(a->statement, b->statement); });
  // A manifest may name the artifact beside its own root (docs/design.md, "Trust": digests are
  // joined by a manifest that names both). A subject has one root for each hash, so the hash tells
  // which of them it is.
  std::copy_if(judged.manifests.begin(), judged.manifests.end(),
               std::back_inserter(judged.own_manifests), [&facts](const ManifestFact* manifest) {
                 return facts.artifact &&
                        facts.artifact->root().algorithm() == manifest->parameters.hash;
               });
  for (const ManifestFact* manifest : judged.manifests) {
    const SigningContext context{
        KeyPurpose::kPublisher, {}, std::string(kManifestPredicateType), {}};
    judged.manifest_statements.push_back(
        judge(manifest->statement, context, {manifest->name}, now, judged));
  }
  for (const PlacementFact& placement : facts.placements) {
    if (!facts.artifact) {
      break;  // then they are about nothing
    }
    judged.placements.push_back(&placement);
  }
  std::sort(judged.placements.begin(), judged.placements.end(),
            [](const auto* a, const auto* b) { return is_earlier(a->statement, b->statement); });
  for (const PlacementFact* placement : judged.placements) {
    const SigningContext context{
        KeyPurpose::kPublisher, {}, std::string(kPlacementPredicateType), {}};
    judged.placement_statements.push_back(
        judge(placement->statement, context, {placement->name}, now, judged));
  }
  judged.index = index_of(facts);
  return judged;
}

void judge_statements(const Names& names, Timestamp now, JudgedFacts& judged,
                      const Believed& believed) {
  const Names asked = names.empty() ? Names{kUnknownName} : names;
  const StatementIndex& index = *judged.index;
  std::vector<std::optional<JudgedSigner>> known(index.alike.size());
  judged.statement_signers.clear();
  judged.statement_signers.reserve(index.signatures.size());
  judged.statements.clear();
  judged.statements.reserve(index.in_order.size());
  std::size_t from = 0;
  for (std::size_t i = 0; i < index.in_order.size(); ++i) {
    const bool joined = is_joined(*index.in_order[i], believed);
    for (std::size_t s = from; s < index.ends[i]; ++s) {
      const StatementIndex::Signature& signature = index.signatures[s];
      std::optional<JudgedSigner>& one = known[signature.alike];
      if (!one) {
        one = judge(index.alike[signature.alike], asked, now);
      }
      judged.statement_signers.push_back(with(
          if_joined(unless_withdrawn(at_time(*one, signature.signed_at, now), *index.in_order[i]),
                    joined),
          signature.certificate));
    }
    judged.statements.push_back(
        {index.in_order[i],
         std::span(judged.statement_signers).subspan(from, index.ends[i] - from)});
    from = index.ends[i];
  }
  judged.names = names;
  judged.believed = believed;
}

Json withdrawn_among(std::span<const JudgedStatement* const> statements) {
  constexpr std::size_t kMaxShown = 16;
  Json list;
  for (const JudgedStatement* statement : statements) {
    const StatementFact& fact = *statement->fact;
    if (!fact.withdrawn || list.size() == kMaxShown) {
      continue;
    }
    std::vector<std::string> by = fact.withdrawn->by;
    std::sort(by.begin(), by.end());
    list.push_back({{"statement", fact.id.text()},
                    {"reason", fact.withdrawn->reason},
                    {"since", to_rfc3339(fact.withdrawn->since)},
                    {"by", std::move(by)}});
  }
  return list;
}

TestOutcome test_of(const JudgedFacts& facts, const StatementFact& statement,
                    const PredicateTest& test) {
  TestOutcome outcome = facts.tests == nullptr ? run(test, statement.predicate, facts.now)
                                               : facts.tests->run(statement, test, facts.now);
  facts.horizon.changes_at(outcome.until);
  return outcome;
}

Tally::Tally(const SignerRequirement& requirement)
    : needed_(std::max<std::size_t>(requirement.at_least, 1)),
      listed_(requirement.identities.begin(), requirement.identities.end()) {}

void Tally::consider(const std::vector<std::string>& identities) {
  considered_ = Names(identities.begin(), identities.end());
}

void Tally::exclude(Names surely, Names perhaps) {
  surely_ = std::move(surely);
  perhaps_ = std::move(perhaps);
}

bool Tally::considered(std::string_view identity) const {
  return considered_.empty() || considered_.contains(identity);
}

bool Tally::listed(std::string_view identity) const {
  return listed_.empty() || listed_.contains(identity);
}

void Tally::note_rejected(const JudgedStatement& statement) {
  for (const JudgedSigner& signer : statement.signers) {
    if (signer.state == SignerState::kRejected && considered(signer.identity)) {
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
    if (signer.state == SignerState::kRejected || !considered(signer.identity)) {
      continue;
    }
    if (!listed(signer.identity)) {
      unlisted_.insert(signer.identity);
    } else if (surely_.contains(signer.identity)) {
      excluded_.insert(signer.identity);
    } else if (counts(signer) && !perhaps_.contains(signer.identity)) {
      counted_.insert(signer.identity);
      if (signer.certificate != nullptr) {
        const CertificateUse& use = *signer.certificate;
        certificates_.emplace(signer.identity, use.issuer, use.subject, use.at);
      }
    } else {
      undecided_.insert(signer.identity);
    }
  }
}

void Tally::add_undecided(const JudgedStatement& statement) {
  note_rejected(statement);
  for (const JudgedSigner& signer : statement.signers) {
    if (signer.state != SignerState::kRejected && considered(signer.identity) &&
        listed(signer.identity) && !surely_.contains(signer.identity)) {
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
  for (const auto& [identity, issuer, subject, at] : certificates_) {
    json["certificates"].push_back(
        {{"identity", identity}, {"issuer", issuer}, {"subject", subject}, {"at", to_rfc3339(at)}});
  }
  if (!unlisted_.empty()) {
    json["unlisted"] = texts(unlisted_);
  }
  if (!excluded_.empty()) {
    json["excluded"] = texts(excluded_);
  }
  if (!undecided_.empty()) {
    json["undecided"] = texts(undecided_);
  }
  return json;
}

}  // namespace assay::policy
