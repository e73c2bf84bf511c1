// SPDX-License-Identifier: Apache-2.0
// Order, kinds and alike signatures of the statements about an artifact.
#include "policy/statement_index.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace assay::policy {
namespace {

// Where a signature lies in the validity of its key, and whether a revocation covers it. Beside
// whether it lies in the future that is all that check_grant reads of its time.
enum class Place : std::uint8_t { kBefore, kIn, kAfter, kRevoked };

Place place_of(const SignerFact& signer) {
  if (is_revoked(signer.key, signer.signed_at)) {
    return Place::kRevoked;
  }
  if (signer.signed_at < signer.key.not_before) {
    return Place::kBefore;
  }
  return signer.signed_at > signer.key.not_after ? Place::kAfter : Place::kIn;
}

class Signatures {
 public:
  explicit Signatures(StatementIndex& index) : index_(index) {}

  void add(const StatementFact& statement) {
    for (const SignerFact& signer : statement.signers) {
      index_.signatures.push_back({find(statement, signer), signer.signed_at,
                                   signer.certificate ? &*signer.certificate : nullptr});
    }
    index_.ends.push_back(index_.signatures.size());
  }

 private:
  struct Known {
    Place place;
    std::size_t alike;
  };
  struct Covered {
    const TrustedKey* key;
    bool covers;
  };

  std::size_t find(const StatementFact& statement, const SignerFact& signer) {
    std::vector<Known>& known = known_[signer.key.id];
    const Place place = place_of(signer);
    const bool covers = covers_names(statement, signer.key);
    for (const Known& one : known) {
      const StatementIndex::Alike& alike = index_.alike[one.alike];
      if (one.place == place && alike.covers_names == covers &&
          alike.statement->stage == statement.stage &&
          alike.statement->predicate_type == statement.predicate_type &&
          alike.signer->key == signer.key) {
        return one.alike;
      }
    }
    index_.alike.push_back({&statement, &signer, covers});
    known.push_back({place, index_.alike.size() - 1});
    return known.back().alike;
  }

  // Whoever signs speaks about every name in the statement.
  bool covers_names(const StatementFact& statement, const TrustedKey& key) {
    if (statement.names.empty()) {
      return covers_name(statement, key, kUnknownName);
    }
    return std::all_of(statement.names.begin(), statement.names.end(),
                       [&](const std::string& name) { return covers_name(statement, key, name); });
  }

  // Whether the key has the role, at whatever time. Each key, kind and name is asked about once.
  bool covers_name(const StatementFact& statement, const TrustedKey& key, std::string_view name) {
    std::vector<Covered>& known =
        covered_[{key.id, statement.stage, statement.predicate_type, name}];
    for (const Covered& one : known) {
      if (one.key->roles == key.roles && one.key->purpose == key.purpose) {
        return one.covers;
      }
    }
    const SigningContext context{KeyPurpose::kSigner, statement.stage, statement.predicate_type,
                                 std::string(name)};
    const bool covers = check_grant(key, context, key.not_before, Timestamp::min()).has_value();
    known.push_back({&key, covers});
    return covers;
  }

  StatementIndex& index_;
  std::map<KeyId, std::vector<Known>> known_;
  // By key, stage, predicate type and name.
  std::map<std::tuple<KeyId, std::string_view, std::string_view, std::string_view>,
           std::vector<Covered>>
      covered_;
};

void add_groups(StatementIndex& index) {
  std::map<const StatementIndex::Group*, std::vector<std::string>> ids;
  for (std::size_t i = 0; i < index.in_order.size(); ++i) {
    const StatementFact& fact = *index.in_order[i];
    StatementIndex::Group& group = index.groups[{fact.predicate_type, fact.stage}];
    group.members.push_back(i);
    ids[&group].push_back(fact.id.text());
  }
  for (auto& [kind, group] : index.groups) {
    group.evidence = EvidenceIds(ids[&group]);
  }
}

}  // namespace

bool is_earlier(const StatementFact& a, const StatementFact& b) {
  return std::tie(a.log_index, a.id) < std::tie(b.log_index, b.id);
}

const StatementIndex::Group* StatementIndex::group(std::string_view predicate_type,
                                                   std::string_view stage) const {
  const auto found = groups.find({predicate_type, stage});
  return found == groups.end() ? nullptr : &found->second;
}

std::shared_ptr<const StatementIndex> index_statements(
    const SharedList<StatementFact>& statements) {
  auto index = std::make_shared<StatementIndex>();
  index->source = statements.shared();
  for (const StatementFact& fact : statements) {
    index->in_order.push_back(&fact);
  }
  const auto before = [](const StatementFact* a, const StatementFact* b) {
    return is_earlier(*a, *b);
  };
  std::sort(index->in_order.begin(), index->in_order.end(), before);
  add_groups(*index);
  Signatures signatures(*index);
  for (const StatementFact* fact : index->in_order) {
    signatures.add(*fact);
  }
  return index;
}

std::shared_ptr<const StatementIndex> index_of(const Facts& facts) {
  return facts.index && facts.index->source == facts.statements.shared()
             ? facts.index
             : index_statements(facts.statements);
}

}  // namespace assay::policy
