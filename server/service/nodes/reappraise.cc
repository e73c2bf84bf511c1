// SPDX-License-Identifier: Apache-2.0
#include "server/service/nodes/reappraise.h"

#include <algorithm>
#include <vector>

#include "attestation/outside_verifier.h"
#include "attestation/verifier_registry.h"
#include "schemas/core/json_at.h"
#include "schemas/core/sha.h"
#include "schemas/log_record.h"
#include "server/service/if_found.h"
#include "server/service/nodes/appraisal.h"
#include "server/service/nodes/devices.h"
#include "server/service/nodes/node_view.h"
#include "server/service/nodes/stage_evidence.h"

namespace assay::server {
namespace {

constexpr std::string_view kEvidenceMediaType = "application/vnd.assay.evidence+json";
constexpr std::string_view kCollateralMediaType = "application/vnd.assay.collateral+json";

Result<bool> has_newest_collateral(storage::NodeReads& reads, const storage::EvidenceRow& row) {
  for (const auto& [mark, value] : row.marks.items()) {
    ASSAY_ASSIGN(const std::uint64_t seen, reads.high_water(mark));
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < seen) {
      return false;
    }
  }
  return true;
}

// An enrolment that is over never counts again with this evidence; nor do reports of a node that
// was revoked.
Result<bool> matters(storage::NodeReads& reads, const storage::EvidenceRow& row, Timestamp now) {
  if (!row.stage.is_null()) {
    return true;
  }
  ASSAY_ASSIGN(const auto node, if_found(reads.node(row.node)));
  if (!node || node->revoked) {
    return false;
  }
  const bool is_device = is_device_subject(row.subject);
  const bool enrols = is_device || row.subject == node_subject(row.node);
  return (!enrols || (!node->ended && node->expires_at > now)) &&
         (!is_device || has_device(*node, row.subject));
}

// Names of appraisals, those that come first in force before the others.
std::vector<std::string> appraisal_names(const std::string& type, const std::string& stage) {
  std::vector<std::string> names = {appraisal_name(type, stage)};
  if (!stage.empty() && stage != "*") {
    names.push_back(appraisal_name(type, "*"));
  }
  return names;
}

bool is_passing(const Error& error) { return info(error.code).retryable; }

// One piece of evidence and what it is held against.
struct Task {
  storage::EvidenceRow row;
  bool matters = true;
  bool current = false;
  DocumentId policy;
  Json seen = Json::object();  // high-water marks of then, by the names of row.marks
  std::optional<Appraisal> appraisal = {};
  std::optional<Evidence> evidence = {};
  ErrorCode why_not = ErrorCode::kDataLoss;  // when there is no evidence
  ChosenCollateral collateral = {};
};

// Loads the evidence and chooses collateral for it. What cannot be read stays away.
Status load(Services& services, storage::Snapshot& snapshot, Task& task) {
  auto evidence = load_evidence(snapshot, task.row.evidence);
  if (evidence) {
    auto chosen = choose_collateral(services, snapshot, *evidence, *task.appraisal);
    if (chosen) {
      task.evidence = *std::move(evidence);
      task.collateral = *std::move(chosen);
      return {};
    }
    task.why_not = chosen.error().code;
    return is_passing(chosen.error()) ? Status(std::unexpected(std::move(chosen).error()))
                                      : Status();
  }
  return is_passing(evidence.error()) ? Status(std::unexpected(std::move(evidence).error()))
                                      : Status();
}

Result<Json> seen_marks(storage::NodeReads& reads, const Json& marks) {
  Json seen = Json::object();
  for (const auto& [mark, value] : marks.items()) {
    ASSAY_ASSIGN(seen[mark], reads.high_water(mark));
  }
  return seen;
}

// Stale evidence first, then that whose end is near.
Result<std::vector<storage::EvidenceRow>> stale_or_due(storage::Snapshot& snapshot, Timestamp now,
                                                       std::size_t limit) {
  ASSAY_ASSIGN(auto rows, snapshot.stale_evidence(limit));
  ASSAY_ASSIGN(auto due, snapshot.due_evidence(now, limit));
  for (storage::EvidenceRow& row : due) {
    if (rows.size() < limit &&
        std::ranges::find(rows, row.subject, &storage::EvidenceRow::subject) == rows.end()) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// Whether the chosen collateral lasts longer than that of the newest appraisal. What else evidence
// rests on may last longer too: only an appraisal shows.
bool lasts_longer(const Task& task) {
  const attestation::CollateralSetPtr& set = task.collateral.set;
  return task.evidence &&
         (set == nullptr || !task.row.valid_until || set->valid_until() > *task.row.valid_until);
}

Result<Task> make_task(Services& services, storage::Snapshot& snapshot, storage::EvidenceRow row,
                       Timestamp now) {
  const std::string stage = text_at(row.stage, "stage");
  ASSAY_ASSIGN(DocumentId policy, appraisal_id_in_force(snapshot, row.type, stage));
  Task task{std::move(row), true, false, std::move(policy)};
  ASSAY_ASSIGN(task.seen, seen_marks(snapshot, task.row.marks));
  ASSAY_ASSIGN(task.matters, matters(snapshot, task.row, now));
  ASSAY_ASSIGN(const bool newest, has_newest_collateral(snapshot, task.row));
  task.current = newest && task.row.policy == task.policy;
  const bool due = task.row.look_at && *task.row.look_at <= now;
  if (!task.matters || (task.current && !due)) {
    return task;
  }
  ASSAY_ASSIGN(task.appraisal, appraisal_in_force(snapshot, task.row.type, stage));
  ASSAY_TRY(load(services, snapshot, task));
  task.seen.update(task.collateral.seen);
  if (task.current && lasts_longer(task)) {
    task.current = false;
  } else if (task.current) {
    note_end(task.row, task.row.valid_until, now);
  }
  return task;
}

attestation::AppraisedEvidence refused(std::string code) {
  attestation::AppraisedEvidence appraised;
  appraised.error = std::move(code);
  appraised.result = Json::object();
  return appraised;
}

// Whatever cannot be appraised is refused. Errors: what passes, as when a plug-in is busy; it says
// nothing of the evidence, which stays stale.
Result<attestation::AppraisedEvidence> appraise_task(const Services& services, const Task& task,
                                                     Timestamp now) {
  if (!task.evidence || task.row.expected.size() != ReportDataBytes().size()) {
    const ErrorCode code = task.evidence ? ErrorCode::kDataLoss : task.why_not;
    return refused(std::string(info(code).code));
  }
  ReportDataBytes expected{};
  std::ranges::copy(task.row.expected, expected.begin());
  const auto purpose = is_device_subject(task.row.subject) ? attestation::Purpose::kDevice
                       : task.row.stage.is_null()          ? attestation::Purpose::kEnrol
                                                           : attestation::Purpose::kStage;
  auto appraised = appraise_chosen(services, task.collateral, *task.evidence, *task.appraisal,
                                   purpose, expected, now);
  if (!appraised && is_passing(appraised.error())) {
    return std::unexpected(std::move(appraised).error());
  }
  if (!appraised) {
    return refused(std::string(info(appraised.error().code).code));
  }
  const bool any_platform = !task.row.stage.is_null() && task.row.platform.empty();
  if (appraised->accepted && !any_platform && appraised->platform != task.row.platform) {
    return refused(std::string(info(ErrorCode::kEnrolmentMismatch).code));
  }
  return *std::move(appraised);
}

// Evidence that was refused while its collateral had ended may be good under newer collateral that
// says the same, which makes nothing stale.
std::optional<Timestamp> ended_collateral(const Task& task, Timestamp now) {
  const attestation::CollateralSetPtr& set = task.collateral.set;
  return set != nullptr && set->valid_until() <= now ? std::optional(set->valid_until())
                                                     : std::nullopt;
}

// The row as the new result leaves it.
Result<storage::EvidenceRow> outcome(const Task& task,
                                     const attestation::AppraisedEvidence& appraised,
                                     DocumentId document, Json marks, Timestamp now) {
  storage::EvidenceRow row = task.row;
  row.policy = task.policy;
  row.error = appraised.accepted ? "" : appraised.error;
  row.appraisal = std::move(document);
  row.tcb_status = appraised.tcb_status;
  row.anchor = appraised.anchor;
  row.anchor_is_vendor = appraised.anchor_is_vendor;
  row.matched = appraised.matched;
  row.boot = appraised.accepted ? appraised.boot : std::nullopt;
  row.device = appraised.device ? to_json(*appraised.device) : Json();
  note_end(row, appraised.accepted ? appraised.valid_until : ended_collateral(task, now), now);
  row.marks = std::move(marks);
  if (!row.stage.is_null() && appraised.accepted) {
    ASSAY_ASSIGN(StageRow stage, stage_row(row));
    note_shown(appraised, stage);
    row.stage = to_json(stage);
    row.platform = appraised.platform;
  }
  return row;
}

// An enrolment ends with what its evidence stands on now, if that ends sooner than what it stood on
// before. It never lasts longer than it was to.
Status shorten_enrolment(storage::Transaction& transaction, const storage::EvidenceRow& row,
                         const attestation::AppraisedEvidence& appraised) {
  if (!appraised.accepted || !appraised.valid_until || row.subject != node_subject(row.node)) {
    return {};
  }
  ASSAY_ASSIGN(auto node, if_found(transaction.node(row.node)));
  if (!node || node->expires_at <= *appraised.valid_until) {
    return {};
  }
  node->expires_at = *appraised.valid_until;
  return transaction.put_node(*node);
}

Status record(storage::Transaction& transaction, const Task& task,
              attestation::AppraisedEvidence appraised) {
  // By its marks evidence is found stale again: refused evidence keeps those that it had.
  Json marks = task.seen;
  if (appraised.accepted) {
    auto moved = advance_marks(transaction, task.collateral, appraised, {"system", kWithEvidence});
    if (moved) {
      marks = *std::move(moved);
    } else if (moved.error().code == ErrorCode::kCollateralRollback) {
      appraised.accepted = false;
      appraised.error = info(ErrorCode::kCollateralRollback).code;
    } else {
      return std::unexpected(std::move(moved).error());
    }
  }
  ASSAY_ASSIGN(DocumentId document, record_again(transaction, task.row, task.policy, appraised));
  ASSAY_ASSIGN(const storage::EvidenceRow row,
               outcome(task, appraised, std::move(document), std::move(marks), transaction.now()));
  ASSAY_TRY(shorten_enrolment(transaction, row, appraised));
  return transaction.put_evidence(row);
}

// Nothing is written when the evidence or the ground it was held against moved meanwhile: then it
// is stale still.
Status settle(storage::Transaction& transaction, const Task& task,
              const std::optional<attestation::AppraisedEvidence>& appraised) {
  ASSAY_ASSIGN(const auto before, if_found(transaction.evidence(task.row.subject)));
  if (!before || before->appraisal != task.row.appraisal || before->evidence != task.row.evidence) {
    return {};
  }
  if (!task.matters) {
    return transaction.forget_evidence(task.row.subject);
  }
  ASSAY_ASSIGN(const DocumentId policy,
               appraisal_id_in_force(transaction, task.row.type, text_at(task.row.stage, "stage")));
  ASSAY_ASSIGN(const Json seen, seen_marks(transaction, task.seen));
  if (policy != task.policy || seen != task.seen) {
    return {};
  }
  return appraised ? record(transaction, task, *appraised) : transaction.put_evidence(task.row);
}

Status appraise_again(Services& services, const Task& task, Timestamp now) {
  std::optional<attestation::AppraisedEvidence> appraised;
  if (task.matters && !task.current) {
    ASSAY_ASSIGN(appraised, appraise_task(services, task, now));
    count(services, NodeEvent::kEvidence, appraised->accepted ? "accepted" : "rejected");
  }
  const auto done = services.store.write(
      [&](storage::Transaction& transaction) { return settle(transaction, task, appraised); });
  return done ? Status() : std::unexpected(done.error());
}

}  // namespace

void note_end(storage::EvidenceRow& row, std::optional<Timestamp> valid_until, Timestamp now) {
  // The result of another verifier (an EAR) is over soon, because it is to be fresh when it comes.
  // Nothing becomes known by that against the report, whose own age counts from then on.
  row.valid_until = row.type == attestation::kEarEvidence ? std::nullopt : valid_until;
  row.look_at.reset();
  if (row.valid_until && row.subject != node_subject(row.node)) {
    row.look_at = std::max(*row.valid_until - kLookAgain, now + kLookAgain);
  }
}

Result<StoredEvidence> store_evidence(storage::Transaction& transaction, const Evidence& evidence) {
  Json json = {
      {"type", evidence.type}, {"quote", base64_encode(evidence.quote)}, {"collateral", Json()}};
  if (!evidence.media_type.empty()) {
    json["media_type"] = evidence.media_type;
  }
  if (!evidence.event_log.empty()) {
    json["event_log"] = base64_encode(evidence.event_log);
  }
  std::optional<DocumentId> collateral;
  if (!evidence.collateral.is_null()) {
    ASSAY_ASSIGN(const std::string text, canonical_json(evidence.collateral));
    ASSAY_ASSIGN(collateral, transaction.put_document(kCollateralMediaType, as_bytes(text)));
    json["collateral"] = collateral->text();
  }
  ASSAY_ASSIGN(const std::string text, canonical_json(json));
  ASSAY_ASSIGN(DocumentId id, transaction.put_document(kEvidenceMediaType, as_bytes(text)));
  return StoredEvidence{std::move(id), std::move(collateral)};
}

Result<Evidence> load_evidence(storage::Snapshot& snapshot, const DocumentId& id) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(id));
  ASSAY_ASSIGN(Json json, parse_json(document.bytes));
  if (const Json collateral = json.value("collateral", Json()); collateral.is_string()) {
    ASSAY_ASSIGN(const DocumentId own, DocumentId::parse(collateral.get<std::string>()));
    ASSAY_ASSIGN(const storage::Document stored, snapshot.document(own));
    ASSAY_ASSIGN(json["collateral"], parse_json(stored.bytes));
  }
  return json::get<Evidence>(json);
}

Result<Appraisal> appraisal_in_force(storage::NodeReads& reads, const std::string& evidence_type,
                                     const std::string& stage) {
  for (const std::string& name : appraisal_names(evidence_type, stage)) {
    ASSAY_ASSIGN(auto stored, if_found(reads.appraisal(name)));
    if (stored) {
      return *std::move(stored);
    }
  }
  return attestation::default_appraisal(evidence_type);
}

Result<DocumentId> appraisal_id_in_force(storage::NodeReads& reads,
                                         const std::string& evidence_type,
                                         const std::string& stage) {
  for (const std::string& name : appraisal_names(evidence_type, stage)) {
    ASSAY_ASSIGN(auto stored, if_found(reads.appraisal_id(name)));
    if (stored) {
      return *std::move(stored);
    }
  }
  ASSAY_ASSIGN(const std::string text,
               canonical_json(to_json(attestation::default_appraisal(evidence_type))));
  return DocumentId(sha256(as_bytes(text)));
}

Result<Standing> standing_of(storage::NodeReads& reads, storage::EvidenceRow row) {
  ASSAY_ASSIGN(const DocumentId policy,
               appraisal_id_in_force(reads, row.type, text_at(row.stage, "stage")));
  ASSAY_ASSIGN(const bool newest, has_newest_collateral(reads, row));
  const bool current = newest && row.policy == policy;
  return Standing{std::move(row), current};
}

Result<std::optional<Standing>> standing(storage::NodeReads& reads, const std::string& subject) {
  ASSAY_ASSIGN(auto row, if_found(reads.evidence(subject)));
  if (!row) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(Standing found, standing_of(reads, *std::move(row)));
  return found;
}

Result<std::size_t> reappraise(Services& services, std::size_t limit) {
  const Timestamp now = services.clock.now();
  std::vector<Task> tasks;
  Status left;  // the first error; what it is about stays stale and holds up nothing else
  const auto note = [&](Status done) { left = left ? std::move(done) : std::move(left); };
  {
    ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
    ASSAY_ASSIGN(auto rows, stale_or_due(*snapshot, now, limit));
    for (storage::EvidenceRow& row : rows) {
      auto task = make_task(services, *snapshot, std::move(row), now);
      if (task) {
        tasks.push_back(*std::move(task));
      } else {
        note(std::unexpected(std::move(task).error()));
      }
    }
  }
  for (const Task& task : tasks) {
    note(appraise_again(services, task, now));
  }
  ASSAY_TRY(left);
  return tasks.size();
}

}  // namespace assay::server
