// SPDX-License-Identifier: Apache-2.0
#include "cli/decisions/signed_facts.h"

#include <algorithm>

#include "attestation/oms/statement.h"
#include "policy/lineage.h"
#include "policy/statement_contents.h"
#include "schemas/core/json_at.h"
#include "schemas/lifecycle.h"
#include "schemas/manifest.h"
#include "schemas/placement.h"
#include "schemas/withdrawal.h"

namespace assay::cli {
namespace {

std::unexpected<Error> differs(const std::string& what, const StatementId& id) {
  return fail(ErrorCode::kExportInconsistent, what, "statement " + id.text());
}

bool is_accepted(const LogRecord& record) {
  return record.type == event::kManifestAccepted || record.type == event::kAttestationAccepted;
}

// The signers that a record names, each with a signature that verifies.
Result<std::vector<policy::SignerFact>> signers_of(const ProvenEntry& entry,
                                                   const attestation::Envelope& envelope,
                                                   const Governed& governed) {
  ASSAY_ASSIGN(const auto verified, signatures_at(governed, envelope, entry.record.time));
  std::vector<policy::SignerFact> signers;
  for (const Json& text : array_at(entry.record.detail, "signers")) {
    const auto one = std::ranges::find_if(verified, [&](const auto& signature) {
      return text.is_string() && signature.key.id.text() == text.get_ref<const std::string&>();
    });
    if (one == verified.end()) {
      return fail(ErrorCode::kExportInconsistent,
                  "a key that the log names as signer has no signature that verifies",
                  "log entry " + std::to_string(entry.index));
    }
    policy::SignerFact signer{one->key, entry.record.time, one->certificate};
    signer.key.public_key.clear();
    signers.push_back(std::move(signer));
  }
  return signers;
}

// As a facts document writes them: keys without their bytes, lists in whatever order.
bool same_fact(const policy::StatementFact& one, const policy::StatementFact& other) {
  const auto written = [](const policy::StatementFact& fact) {
    policy::Facts facts;
    facts.statements = {fact};
    return policy::to_json(facts);
  };
  return written(one) == written(other);
}

bool same_signers(const policy::StatementFact& fact,
                  const std::vector<policy::SignerFact>& logged) {
  policy::StatementFact other = fact;
  other.signers = logged;
  return same_fact(fact, other);
}

bool same_withdrawal(const policy::StatementFact& fact,
                     const std::map<StatementId, policy::WithdrawnFact>& withdrawn) {
  policy::StatementFact other = fact;
  const auto found = withdrawn.find(fact.id);
  other.withdrawn = found == withdrawn.end() ? std::nullopt : std::optional(found->second);
  return same_fact(fact, other);
}

std::vector<std::string> sorted(std::vector<std::string> texts) {
  std::ranges::sort(texts);
  return texts;
}

bool is_about(const Statement& statement, const std::string& digest) {
  return std::ranges::any_of(statement.subjects, [&](const Subject& subject) {
    return std::ranges::any_of(
        subject.digest, [&](const auto& one) { return one.first + ":" + one.second == digest; });
  });
}

bool is_nameless(const Statement& statement) {
  return statement.predicate_type == attestation::oms::kPredicateType;
}

std::vector<std::string> names_for(const Statement& statement, const ArtifactId& artifact) {
  std::vector<std::string> names;
  const Json contents = policy::contents_of(statement, is_nameless(statement));
  for (const Json& name : array_at(object_at(contents, "names"), artifact.text())) {
    names.push_back(name.get<std::string>());
  }
  return names;
}

// Makes again what a lineage reads of a statement.
Result<policy::LineageStatement> lineage_again(const Statement& statement,
                                               const policy::StatementFact& fact) {
  if (statement.predicate_type == kManifestPredicateType) {
    ASSAY_ASSIGN(const Manifest manifest, manifest_from(statement));
    policy::LineageStatement made{fact, true, {}, {}};
    std::set<std::string> subjects;
    for (const Subject& subject : statement.subjects) {
      for (const auto& [algorithm, value] : subject.digest) {
        subjects.insert(algorithm + ":" + value);
      }
    }
    for (const std::string& subject : subjects) {
      made.subjects.push_back({subject, {manifest.name}});
    }
    return made;
  }
  Json contents = policy::contents_of(statement, is_nameless(statement));
  static_cast<void>(policy::add_lineage(statement, contents));
  return policy::lineage_in(fact, contents);
}

}  // namespace

Result<SignedFacts> SignedFacts::open(const ProvenLog& log, TreeSize known,
                                      const Governed& governed, ExportedDocuments& documents) {
  SignedFacts all;
  for (const ProvenEntry& entry : log.entries) {
    const bool withdrawal = entry.record.type == event::kStatementWithdrawn;
    if (entry.index >= known || !(withdrawal || is_accepted(entry.record)) ||
        entry.record.documents.empty()) {
      continue;
    }
    if (withdrawal) {
      ASSAY_TRY(all.take_withdrawal(entry, governed, documents));
      continue;
    }
    ASSAY_ASSIGN(const attestation::Envelope envelope,
                 documents.envelope(entry.record.documents.front()));
    const StatementId id = attestation::statement_id(envelope.payload_type, envelope.payload);
    ASSAY_ASSIGN(auto signers, signers_of(entry, envelope, governed));
    const auto found = all.statements_.find(id);
    if (found == all.statements_.end()) {
      if (envelope.payload_type != kStatementPayloadType) {
        return differs("it is of another type than its record says", id);
      }
      ASSAY_ASSIGN(Statement statement, parse_statement(envelope.payload));
      all.statements_.emplace(id, LoggedStatement{std::move(statement), std::move(signers),
                                                  entry.record.time, entry.index});
    } else {
      std::ranges::move(signers, std::back_inserter(found->second.signers));
    }
  }
  // Two operators speak for everybody.
  for (const auto& [id, withdrawn] : governed.withdrawn) {
    const auto before = all.withdrawn_.find(id);
    policy::WithdrawnFact whole = withdrawn;
    if (before != all.withdrawn_.end()) {
      whole.since = std::min(whole.since, before->second.since);
    }
    all.withdrawn_.insert_or_assign(id, std::move(whole));
  }
  return all;
}

// Of statements that no fact names the file has the record alone.
Status SignedFacts::take_withdrawal(const ProvenEntry& entry, const Governed& governed,
                                    ExportedDocuments& documents) {
  const auto named = StatementId::parse(text_at(entry.record.detail, "statement"));
  const auto statement = named ? statements_.find(*named) : statements_.end();
  if (statement == statements_.end()) {
    return {};
  }
  ASSAY_ASSIGN(const attestation::Envelope envelope,
               documents.envelope(entry.record.documents.front()));
  ASSAY_ASSIGN(const auto signatures, signatures_at(governed, envelope, entry.record.time));
  ASSAY_ASSIGN(const Withdrawal parsed, parse_withdrawal(envelope.payload));
  // Each for himself: who signed the statement, and signs the withdrawal.
  std::set<std::string> by;
  for (const attestation::VerifiedSignature& signature : signatures) {
    const bool signed_it =
        std::ranges::any_of(statement->second.signers, [&](const policy::SignerFact& signer) {
          return signer.key.identity == signature.key.identity;
        });
    if (signed_it) {
      by.insert(signature.key.identity);
    }
  }
  if (envelope.payload_type != kWithdrawalPayloadType || parsed.statement != *named || by.empty() ||
      member_at(entry.record.detail, "by") != Json(by)) {
    return differs("its withdrawal is not by those who signed it, as its log entry says", *named);
  }
  const Timestamp since = parsed.since.value_or(entry.record.time);
  const auto [known, is_first] = withdrawn_.try_emplace(
      *named, policy::WithdrawnFact{parsed.reason, since, {by.begin(), by.end()}, false});
  if (!is_first) {
    policy::WithdrawnFact& fact = known->second;
    fact.since = std::min(fact.since, since);
    by.insert(fact.by.begin(), fact.by.end());
    fact.by = {by.begin(), by.end()};
  }
  return {};
}

Result<const Statement*> SignedFacts::check_fact(const policy::StatementFact& fact) {
  const auto found = statements_.find(fact.id);
  if (found == statements_.end()) {
    return differs("the facts name it, and the file lacks its signed document", fact.id);
  }
  LoggedStatement& logged = found->second;
  logged.used = true;
  if (fact.predicate_type != logged.statement.predicate_type ||
      fact.log_index != logged.log_index || fact.accepted_at != logged.accepted_at) {
    return differs("the facts give it another type, time or place in the log", fact.id);
  }
  if (!same_signers(fact, logged.signers)) {
    return differs("the facts name other signers, or say other things of their keys", fact.id);
  }
  std::string stage;
  if (fact.predicate_type == kLifecyclePredicateType) {
    ASSAY_ASSIGN(const Lifecycle lifecycle, lifecycle_from(logged.statement));
    stage = lifecycle.stage;
  }
  if (fact.stage != stage) {
    return differs("the facts give it another stage", fact.id);
  }
  if (!same_withdrawal(fact, withdrawn_)) {
    return differs("the facts say other things of its withdrawal than the signed documents",
                   fact.id);
  }
  return &logged.statement;
}

Status SignedFacts::check_manifest(const policy::ManifestFact& fact, const ArtifactId& artifact) {
  ASSAY_ASSIGN(const Statement* statement, check_fact(fact.statement));
  ASSAY_ASSIGN(const Manifest manifest, manifest_from(*statement));
  const std::vector<Entry>& entries = manifest.artifact.entries;
  const bool same = is_about(*statement, artifact.text()) && fact.name == manifest.name &&
                    to_json(fact.parameters) == to_json(manifest.artifact.parameters) &&
                    sorted(fact.locations) == sorted(manifest.locations) &&
                    fact.objects == objects_of(entries) &&
                    (!fact.formats || fact.formats == formats_of(entries));
  return same ? Status()
              : differs("the facts say other things of this manifest than it does itself",
                        fact.statement.id);
}

Status SignedFacts::check_placement(const policy::PlacementFact& fact, const ArtifactId& artifact) {
  ASSAY_ASSIGN(const Statement* statement, check_fact(fact.statement));
  ASSAY_ASSIGN(const Placement placement, placement_from(*statement));
  const bool same = placement.artifact == artifact && fact.name == placement.name &&
                    sorted(fact.locations) == sorted(placement.locations);
  return same ? Status()
              : differs("the facts say other things of this placement than it does itself",
                        fact.statement.id);
}

Status SignedFacts::check_statement(policy::StatementFact& fact, const policy::Facts& facts) {
  ASSAY_ASSIGN(const Statement* statement, check_fact(fact));
  fact.predicate = statement->predicate;
  if (fact.joined_by.empty()) {
    const bool same = is_about(*statement, facts.artifact->text()) &&
                      sorted(fact.names) == sorted(names_for(*statement, *facts.artifact));
    return same ? Status() : differs("it is not about this model, or under another name", fact.id);
  }
  // About a digest that manifests of the model name.
  for (const StatementId& manifest : fact.joined_by) {
    const auto known = statements_.find(manifest);
    const bool listed = std::ranges::any_of(
        facts.manifests, [&](const auto& one) { return one.statement.id == manifest; });
    const bool joined = listed && known != statements_.end() &&
                        std::ranges::any_of(statement->subjects, [&](const Subject& subject) {
                          const auto digest = subject.digest.find("sha256");
                          return digest != subject.digest.end() &&
                                 is_about(known->second.statement, "sha256:" + digest->second);
                        });
    if (!joined || !is_nameless(*statement) || !fact.names.empty()) {
      return differs("no manifest of the model names what it is about", fact.id);
    }
  }
  return {};
}

Status SignedFacts::check_lineage(const policy::Facts& facts) {
  if (!facts.lineage) {
    return {};
  }
  if (!facts.artifact || facts.lineage->start() != facts.artifact->text()) {
    return fail(ErrorCode::kExportInconsistent, "the lineage is that of another model");
  }
  for (const auto& one : facts.lineage->statements()) {
    ASSAY_ASSIGN(const Statement* statement, check_fact(one->fact));
    ASSAY_ASSIGN(const policy::LineageStatement again, lineage_again(*statement, one->fact));
    if (policy::to_json(again) != policy::to_json(*one)) {
      return differs("the lineage says other things of it than it does itself", one->fact.id);
    }
  }
  return {};
}

Status SignedFacts::check(policy::Facts& facts) {
  const bool any =
      !facts.manifests.empty() || !facts.statements.empty() || !facts.placements.empty();
  if (!facts.artifact) {
    return any ? fail(ErrorCode::kExportInconsistent, "facts about no model name statements")
               : Status();
  }
  for (const policy::ManifestFact& manifest : facts.manifests) {
    ASSAY_TRY(check_manifest(manifest, *facts.artifact));
  }
  for (const policy::PlacementFact& placement : facts.placements) {
    ASSAY_TRY(check_placement(placement, *facts.artifact));
  }
  std::vector<policy::StatementFact> statements(facts.statements.begin(), facts.statements.end());
  for (policy::StatementFact& statement : statements) {
    ASSAY_TRY(check_statement(statement, facts));
  }
  facts.statements = std::move(statements);
  return check_lineage(facts);
}

Status SignedFacts::check_all_used() const {
  for (const auto& [id, logged] : statements_) {
    if (!logged.used) {
      return differs("the file has it, and no fact is about it", id);
    }
  }
  return {};
}

}  // namespace assay::cli
