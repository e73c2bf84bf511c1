// SPDX-License-Identifier: Apache-2.0
#include "policy/lineage/index.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "policy/statement_index.h"
#include "schemas/core/ids.h"
#include "schemas/lifecycle.h"
#include "schemas/stages.h"

namespace assay::policy {
namespace {

constexpr std::array<std::string_view, 8> kStrong = {"assay-tree-v1-sha256",
                                                     "assay-tree-v1-sha384",
                                                     "sha256",
                                                     "sha384",
                                                     "sha512",
                                                     "sha3_256",
                                                     "sha3_384",
                                                     "sha3_512"};

std::size_t number(LineageIndex& index, std::string_view digest) {
  const auto [it, added] = index.number_of.try_emplace(digest, index.digests.size());
  if (added) {
    index.digests.push_back(digest);
  }
  return it->second;
}

// Makes room for all that index_statement() adds, so that nothing moves.
void reserve(LineageIndex& index, const Lineage::Statements& statements) {
  std::size_t inputs = 0;
  std::size_t digests = 0;
  for (const auto& statement : statements) {
    inputs += statement->inputs.size();
    digests += statement->subjects.size();
    for (const LineageInput& input : statement->inputs) {
      digests += input.digests.size();
    }
  }
  index.statements.reserve(statements.size());
  index.inputs.reserve(inputs);
  index.said.reserve(digests);
  index.number_of.reserve(2 * statements.size());
}

// Returns what `list` got behind `from`.
template <typename Item>
std::span<const Item> since(const std::vector<Item>& list, std::size_t from) {
  return std::span(list).subspan(from);
}

void index_statement(LineageIndex& index, const LineageStatement& statement) {
  const std::size_t first_subject = index.said.size();
  for (const LineageSubject& subject : statement.subjects) {
    if (is_strong_digest(subject.digest)) {
      index.said.push_back(number(index, subject.digest));
    }
  }
  const auto subjects = since(index.said, first_subject);
  const bool makes = makes_subjects(statement);
  const std::size_t first_input = index.inputs.size();
  for (const LineageInput& input : statement.inputs) {
    if (!makes) {
      break;
    }
    const std::size_t first_digest = index.said.size();
    for (const std::string& digest : input.digests) {
      if (is_strong_digest(digest)) {
        index.said.push_back(number(index, digest));
      }
    }
    index.inputs.push_back({&input, since(index.said, first_digest)});
  }
  index.statements.push_back({&statement, subjects, since(index.inputs, first_input), makes});
}

// Lists the statements about each digest: first how many there are, then which.
void index_digests(LineageIndex& index) {
  struct Counts {
    std::size_t statements = 0;
    std::size_t manifests = 0;
  };
  std::vector<Counts> counts(index.digests.size());
  std::size_t all = 0;
  for (const LineageIndex::Statement& one : index.statements) {
    for (const std::size_t digest : one.subjects) {
      ++(one.statement->manifest ? counts[digest].manifests : counts[digest].statements);
      ++all;
    }
  }
  index.saying.resize(all);
  index.about.resize(index.digests.size());
  std::size_t from = 0;
  for (std::size_t digest = 0; digest < counts.size(); ++digest) {
    Counts& count = counts[digest];
    const std::span<const std::size_t> here(index.saying);
    index.about[digest] = {here.subspan(from, count.statements),
                           here.subspan(from + count.statements, count.manifests)};
    const Counts next{from, from + count.statements};
    from += count.statements + count.manifests;
    count = next;  // from now on, where the next one is written
  }
  for (std::size_t s = 0; s < index.statements.size(); ++s) {
    const LineageIndex::Statement& one = index.statements[s];
    for (const std::size_t digest : one.subjects) {
      Counts& next = counts[digest];
      index.saying[(one.statement->manifest ? next.manifests : next.statements)++] = s;
    }
  }
}

void sort_distinct(std::vector<Timestamp>& times) {
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
}

std::vector<Timestamp> attested_at(const Lineage::Statements& statements) {
  std::vector<Timestamp> times;
  for (const auto& statement : statements) {
    for (const StageEvidenceFact& evidence : statement->fact.evidence) {
      times.push_back(evidence.accepted_at);
    }
  }
  sort_distinct(times);
  return times;
}

// Signatures were mostly logged in the order of the statements, and few keys are revoked.
std::vector<Timestamp> changes_of(const Lineage::Statements& statements) {
  std::vector<Timestamp> changes = attested_at(statements);
  std::set<Timestamp> revocations;
  for (const auto& statement : statements) {
    for (const StageEvidenceFact& evidence : statement->fact.evidence) {
      if (evidence.made_after) {
        changes.push_back(*evidence.made_after);
      }
      if (evidence.valid_until) {
        changes.push_back(*evidence.valid_until);
      }
    }
    for (const SignerFact& signer : statement->fact.signers) {
      if (changes.empty() || changes.back() != signer.signed_at) {
        changes.push_back(signer.signed_at);
      }
      if (signer.key.revoked) {
        revocations.insert(signer.key.revoked->at);
      }
    }
  }
  changes.insert(changes.end(), revocations.begin(), revocations.end());
  sort_distinct(changes);
  return changes;
}

}  // namespace

bool makes_subjects(const LineageStatement& statement) {
  if (statement.manifest) {
    return false;
  }
  if (statement.fact.predicate_type == kSlsaProvenance) {
    return true;
  }
  return statement.fact.predicate_type == kLifecyclePredicateType &&
         effect_of(statement.fact.stage) != StageEffect::kDescribes;
}

bool surely_makes_subjects(const LineageStatement& statement) {
  return makes_subjects(statement) && (statement.fact.predicate_type == kSlsaProvenance ||
                                       effect_of(statement.fact.stage).has_value());
}

bool is_strong_digest(std::string_view digest) {
  const std::string_view algorithm = digest.substr(0, digest.find(':'));
  return algorithm.size() < digest.size() &&
         std::find(kStrong.begin(), kStrong.end(), algorithm) != kStrong.end();
}

const std::vector<std::string>& LineageIndex::names(std::size_t s, std::size_t d) const {
  static const std::vector<std::string> none;
  const std::vector<LineageSubject>& subjects = statements[s].statement->subjects;
  const auto found = std::lower_bound(
      subjects.begin(), subjects.end(), digests[d],
      [](const LineageSubject& one, std::string_view digest) { return one.digest < digest; });
  return found != subjects.end() && found->digest == digests[d] ? found->names : none;
}

LineageIndex index_lineage(const Lineage& lineage) {
  LineageIndex index;
  reserve(index, lineage.statements());
  index.start = number(index, lineage.start());
  std::vector<std::string> ids;
  ids.reserve(lineage.statements().size());
  for (const auto& statement : lineage.statements()) {
    index_statement(index, *statement);
    ids.push_back(statement->fact.id.text());
  }
  for (const std::string& digest : lineage.rest().cut) {
    index.cut.push_back(number(index, digest));
  }
  std::sort(index.cut.begin(), index.cut.end());
  index_digests(index);
  index.evidence = EvidenceIds(ids);
  index.changes = changes_of(lineage.statements());
  index.attested = attested_at(lineage.statements());
  return index;
}

bool is_tree(std::string_view digest) { return digest.starts_with("assay-tree-v1-"); }

bool could_join(const LineageIndex& index, std::size_t s) {
  const std::span<const std::size_t> subjects = index.statements[s].subjects;
  return index.statements[s].statement->manifest && subjects.size() > 1 &&
         std::count_if(subjects.begin(), subjects.end(),
                       [&](std::size_t digest) { return is_tree(index.digests[digest]); }) == 1;
}

std::vector<std::size_t> joined_things(const LineageIndex& index, const std::vector<bool>& joins) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<std::size_t> tree_of(index.digests.size(), kNone);
  std::set<std::size_t> ambiguous;
  std::map<std::pair<std::size_t, std::string_view>, std::size_t> value;  // tree, algorithm
  for (std::size_t s = 0; s < joins.size(); ++s) {
    if (!joins[s]) {
      continue;
    }
    const std::span<const std::size_t> subjects = index.statements[s].subjects;
    const std::size_t tree =
        *std::find_if(subjects.begin(), subjects.end(),
                      [&](std::size_t digest) { return is_tree(index.digests[digest]); });
    for (const std::size_t digest : subjects) {
      if (digest == tree) {
        continue;
      }
      if (tree_of[digest] != kNone && tree_of[digest] != tree) {
        ambiguous.insert(digest);
      }
      tree_of[digest] = tree;
      const std::string_view text = index.digests[digest];
      const auto [it, added] = value.try_emplace({tree, text.substr(0, text.find(':'))}, digest);
      if (!added && it->second != digest) {
        ambiguous.insert({digest, it->second});
      }
    }
  }
  for (std::size_t digest = 0; digest < tree_of.size(); ++digest) {
    if (tree_of[digest] == kNone || ambiguous.contains(digest)) {
      tree_of[digest] = digest;
    }
  }
  return tree_of;
}

Lineage::~Lineage() = default;

bool Lineage::mentions(const std::string& digest) const {
  return index_->number_of.contains(digest);
}

std::shared_ptr<const Lineage> Lineage::make(std::string start, Statements statements,
                                             std::vector<std::string> reached, LineageRest rest) {
  std::shared_ptr<Lineage> lineage(new Lineage());
  lineage->start_ = std::move(start);
  lineage->statements_ = std::move(statements);
  lineage->reached_ = std::move(reached);
  lineage->rest_ = std::move(rest);
  std::stable_sort(lineage->statements_.begin(), lineage->statements_.end(),
                   [](const auto& a, const auto& b) { return is_earlier(a->fact, b->fact); });
  std::sort(lineage->reached_.begin(), lineage->reached_.end());
  std::sort(lineage->rest_.cut.begin(), lineage->rest_.cut.end());
  std::sort(lineage->rest_.aside.begin(), lineage->rest_.aside.end(),
            [](const auto& a, const auto& b) {
              return std::pair(std::string_view(a.digest), a.key.text()) <
                     std::pair(std::string_view(b.digest), b.key.text());
            });
  lineage->index_ = std::make_unique<const LineageIndex>(index_lineage(*lineage));
  return lineage;
}

}  // namespace assay::policy
