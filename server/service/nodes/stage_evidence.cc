// SPDX-License-Identifier: Apache-2.0
#include "server/service/nodes/stage_evidence.h"

#include <algorithm>
#include <array>
#include <set>

#include "attestation/dsse.h"
#include "schemas/checkpoint.h"
#include "schemas/core/json_at.h"
#include "schemas/core/sha.h"
#include "schemas/lifecycle.h"
#include "schemas/log_record.h"
#include "schemas/stage_evidence.h"
#include "server/service/documents/receipt.h"
#include "server/service/documents/store_statement.h"
#include "server/service/if_found.h"
#include "server/service/nodes/appraisal.h"
#include "server/service/nodes/reappraise.h"
#include "server/service/write_change.h"

namespace assay::server {
namespace {

constexpr std::array<const char*, 5> kShown = {"mrtd", "rtmr0", "rtmr1", "rtmr2", "rtmr3"};

std::unexpected<Error> mismatch(const std::string& why) {
  return fail(ErrorCode::kStageEvidenceMismatch, why);
}

// What was sent, and the statement that it is about.
struct Presented {
  VerifiedEnvelope verified;
  StageEvidence document;
  storage::StatementRow statement;
  TrustedKey key;
};

// Whoever may not make such a statement now has no evidence to add.
Status check_key(const Presented& presented) {
  const storage::StatementRow& row = presented.statement;
  const bool signed_it = std::ranges::any_of(row.signers, [&](const storage::SignerRow& signer) {
    return signer.key == presented.document.key;
  });
  if (row.kind != storage::StatementKind::kAttestation || !signed_it) {
    return mismatch("the key has signed no such attestation");
  }
  // Evidence names a public key that hardware held. An identity by certificate has none: its
  // evidence would fit whatever key signed.
  if (presented.key.certificate) {
    return mismatch("evidence is about a key, and the signer is an identity by certificate");
  }
  std::set<std::string> about;
  const Json contents = parse_json(row.contents).value_or(nullptr);
  for (const Json& names : member_at(contents, "names")) {
    for (const Json& name : names) {
      about.insert(name.is_string() ? name.get<std::string>() : std::string());
    }
  }
  if (about.empty()) {
    return mismatch("the statement is about no artifact");
  }
  const Timestamp now = presented.verified.now;
  for (const std::string& name : about) {
    ASSAY_TRY(check_grant(presented.key, {KeyPurpose::kSigner, row.stage, row.predicate_type, name},
                          now, now));
  }
  return {};
}

Result<Presented> read(storage::Snapshot& snapshot, ByteView bytes, Timestamp now) {
  ASSAY_ASSIGN(VerifiedEnvelope verified,
               verify_envelope(snapshot, bytes, kStageEvidencePayloadType, now));
  ASSAY_ASSIGN(StageEvidence document, parse_stage_evidence(verified.envelope.payload));
  const bool own = std::ranges::any_of(
      verified.signatures, [&](const auto& signature) { return signature.key.id == document.key; });
  if (!own) {
    return mismatch("evidence is signed by the key that it names");
  }
  ASSAY_ASSIGN(storage::StatementRow statement, snapshot.statement(document.statement));
  ASSAY_ASSIGN(TrustedKey key, snapshot.key(document.key));
  Presented presented{std::move(verified), std::move(document), std::move(statement),
                      std::move(key)};
  ASSAY_TRY(check_key(presented));
  return presented;
}

// A checkpoint whose root is that of this log at its size can only have been made after the last of
// these records. Whatever else a statement has for a checkpoint shows nothing.
Result<std::optional<Timestamp>> after_checkpoint(storage::Snapshot& snapshot,
                                                  const storage::StatementRow& row,
                                                  const std::string& origin) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(row.envelopes.front()));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(document.bytes));
  const auto statement = parse_statement(envelope.payload);
  const Json freshness = statement ? member_at(statement->predicate, "freshness") : Json(nullptr);
  const Json& note = member_at(freshness, "checkpoint");
  if (row.predicate_type != kLifecyclePredicateType || !note.is_string()) {
    return std::nullopt;
  }
  const auto parsed = parse_checkpoint(note.get_ref<const std::string&>());
  ASSAY_ASSIGN(const storage::LogState state, snapshot.log_state());
  if (!parsed || parsed->checkpoint.origin != origin || parsed->checkpoint.size == 0 ||
      parsed->checkpoint.size > state.size) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(const Digest root, snapshot.log_root(parsed->checkpoint.size));
  if (root != parsed->checkpoint.root) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(const Bytes newest, snapshot.log_record(parsed->checkpoint.size - 1));
  ASSAY_ASSIGN(const LogRecord record, parse_log_record(newest));
  return record.time;
}

// A statement with a challenge was stored only because its sender had got it, and the record of the
// statement says when.
Result<std::optional<Timestamp>> made_after(storage::Snapshot& snapshot,
                                            const storage::StatementRow& row,
                                            const std::string& origin) {
  ASSAY_ASSIGN(const Bytes bytes, snapshot.log_record(row.log_index));
  ASSAY_ASSIGN(const LogRecord record, parse_log_record(bytes));
  if (const Json& issued = member_at(record.detail, kChallengeIssuedAt); issued.is_string()) {
    return parse_rfc3339(issued.get_ref<const std::string&>());
  }
  return after_checkpoint(snapshot, row, origin);
}

// Evidence that is stored for this statement and key.
enum class Before : std::uint8_t { kNone, kSame, kRefused };

Result<Before> compare(const std::optional<storage::EvidenceRow>& before,
                       const DocumentId& envelope) {
  if (!before) {
    return Before::kNone;
  }
  ASSAY_ASSIGN(const StageRow stage, stage_row(*before));
  if (stage.envelope == envelope) {
    return Before::kSame;
  }
  if (stage.error_then.empty() || before->error.empty()) {
    return fail(ErrorCode::kConflict, "other evidence for this statement and key was accepted");
  }
  if (stage.attempts >= kMaxEvidenceAttempts) {
    return fail(ErrorCode::kSignerLimitExceeded,
                "the key has sent as much evidence for this statement as it may");
  }
  return Before::kRefused;
}

Result<AcceptedStageEvidence> answer(storage::Snapshot& snapshot, storage::EvidenceRow row,
                                     bool created) {
  ASSAY_ASSIGN(const StageRow stage, stage_row(row));
  ASSAY_ASSIGN(Json receipt, log_receipt(snapshot, stage.log_index));
  return AcceptedStageEvidence{std::move(row), created, std::move(receipt), stage.log_index};
}

}  // namespace

Json to_json(const StageRow& stage) {
  return {{"statement", stage.statement.text()},
          {"key", stage.key.text()},
          {"stage", stage.stage},
          {"envelope", stage.envelope.text()},
          {"log_index", stage.log_index},
          {"status_then", stage.status_then},
          {"error_then", stage.error_then},
          {"made_after", stage.made_after ? Json(to_rfc3339(*stage.made_after)) : Json()},
          {"measurements", stage.measurements},
          {"has_reference_values", stage.has_reference_values},
          {"attempts", stage.attempts}};
}

Result<StageRow> stage_row(const storage::EvidenceRow& row) {
  const Json& json = row.stage;
  const auto text = [&json](const char* name) {
    const Json& value = member_at(json, name);
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  auto statement = StatementId::parse(text("statement"));
  auto key = KeyId::parse(text("key"));
  auto envelope = DocumentId::parse(text("envelope"));
  const Json& index = member_at(json, "log_index");
  const Json& attempts = member_at(json, "attempts");
  const Json& measurements = member_at(json, "measurements");
  const Json& references = member_at(json, "has_reference_values");
  const Json& after = member_at(json, "made_after");
  if (!statement || !key || !envelope || text("stage").empty() || !index.is_number_unsigned() ||
      !attempts.is_number_unsigned() || !measurements.is_object() || !references.is_boolean()) {
    return fail(ErrorCode::kDataLoss, "stored stage evidence cannot be read", row.subject);
  }
  StageRow stage{*std::move(statement), *std::move(key),        text("stage"),
                 *std::move(envelope),  index.get<LeafIndex>(), text("status_then"),
                 text("error_then"),    std::nullopt,           {}};
  if (after.is_string()) {
    ASSAY_ASSIGN(stage.made_after, parse_rfc3339(after.get_ref<const std::string&>()));
  }
  for (const auto& [name, value] : measurements.items()) {
    stage.measurements.emplace(name, value.is_string() ? value.get<std::string>() : "");
  }
  stage.has_reference_values = references.get<bool>();
  stage.attempts = attempts.get<std::uint64_t>();
  return stage;
}

std::map<std::string, std::vector<std::string>> matched_of(const storage::EvidenceRow& row) {
  std::map<std::string, std::vector<std::string>> matched;
  for (const auto& [measurement, names] : row.matched.items()) {
    for (const Json& name : names) {
      matched[measurement].push_back(name.is_string() ? name.get<std::string>() : "");
    }
  }
  return matched;
}

void note_shown(const attestation::AppraisedEvidence& evidence, StageRow& stage) {
  if (!evidence.accepted) {
    return;
  }
  const Json& measurements = member_at(evidence.result, "measurements");
  for (const char* name : kShown) {
    const Json& value = member_at(measurements, name);
    if (value.is_string()) {
      stage.measurements[name] = value.get<std::string>();
    }
  }
  stage.has_reference_values = evidence.has_reference_values;
}

Result<AcceptedStageEvidence> accept_stage_evidence(Services& services, ByteView bytes,
                                                    const Principal& actor) {
  const Timestamp now = services.clock.now();
  ASSAY_ASSIGN(auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(const Presented presented, read(*snapshot, bytes, now));
  const StageEvidence& document = presented.document;
  const std::string subject =
      storage::stage_subject(document.statement, document.key, document.evidence.type);
  const DocumentId envelope(sha256(bytes));
  ASSAY_ASSIGN(const auto before, if_found(snapshot->evidence(subject)));
  ASSAY_ASSIGN(const Before known, compare(before, envelope));
  if (known == Before::kSame) {
    return answer(*snapshot, *before, false);
  }
  StageRow stage{document.statement,
                 document.key,
                 presented.statement.stage.empty() ? "*" : presented.statement.stage,
                 envelope,
                 0,
                 {},
                 {},
                 {},
                 {}};
  ASSAY_ASSIGN(stage.made_after, made_after(*snapshot, presented.statement, services.log_origin));
  const StageContext context{actor.name, presented.statement, now};
  ASSAY_ASSIGN(const Appraised appraised,
               appraise_stage(services, *snapshot, document.evidence,
                              statement_report_data(document.statement, presented.key.public_key),
                              stage.stage, context));
  stage.status_then = appraised.evidence.tcb_status;
  stage.error_then = appraised.evidence.error;
  note_shown(appraised.evidence, stage);
  snapshot.reset();
  const auto work = [&](storage::Transaction& transaction) -> Status {
    ASSAY_TRY(require_same_trust(transaction, presented.verified));
    ASSAY_ASSIGN(const auto present, if_found(transaction.evidence(subject)));
    ASSAY_ASSIGN(const Before here, compare(present, envelope));
    if (here == Before::kSame) {
      return {};
    }
    StageRow row = stage;
    if (present) {
      ASSAY_ASSIGN(const StageRow last, stage_row(*present));
      row.attempts = last.attempts + 1;
    }
    ASSAY_TRY(transaction.put_document(kEnvelopeMediaType, bytes));
    return record_stage(transaction, appraised, context, subject, std::move(row));
  };
  ASSAY_TRY(write_change(services, work));
  evidence_moved(services);
  ASSAY_ASSIGN(snapshot, services.store.snapshot());
  ASSAY_ASSIGN(storage::EvidenceRow row, snapshot->evidence(subject));
  return answer(*snapshot, std::move(row), true);
}

Result<Json> stage_evidence_view(storage::Snapshot& snapshot, const StatementId& statement) {
  Json list = Json::array();
  ASSAY_ASSIGN(auto rows, snapshot.stage_evidence(statement));
  for (storage::EvidenceRow& row : rows) {
    ASSAY_ASSIGN(const Standing now, standing_of(snapshot, std::move(row)));
    ASSAY_ASSIGN(const StageRow stage, stage_row(now.row));
    const auto nullable = [](const std::string& text) {
      return text.empty() ? Json() : Json(text);
    };
    list.push_back(
        {{"key_id", stage.key.text()},
         {"type", now.row.type},
         {"accepted", now.row.error.empty()},
         {"error", nullable(now.row.error)},
         {"error_then", nullable(stage.error_then)},
         {"tcb_status", nullable(now.row.tcb_status)},
         {"tcb_status_then", nullable(stage.status_then)},
         {"current", now.current},
         {"anchor", now.row.anchor ? Json(now.row.anchor->text()) : Json()},
         {"anchor_is_vendor", now.row.anchor_is_vendor},
         {"measurements", stage.measurements},
         {"has_reference_values", stage.has_reference_values},
         {"reference_values", now.row.matched},
         {"made_after", stage.made_after ? Json(to_rfc3339(*stage.made_after)) : Json()},
         {"accepted_at", to_rfc3339(now.row.appraised_at)},
         {"valid_until", now.row.valid_until ? Json(to_rfc3339(*now.row.valid_until)) : Json()},
         {"appraisal", now.row.appraisal.text()},
         {"policy", now.row.policy.text()},
         {"envelope", stage.envelope.text()},
         {"log_index", stage.log_index}});
  }
  return list;
}

}  // namespace assay::server
