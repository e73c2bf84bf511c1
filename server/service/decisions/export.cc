// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/export.h"

#include <set>
#include <utility>

#include "attestation/dsse.h"
#include "policy/case_documents.h"
#include "policy/lineage.h"
#include "schemas/core/json_at.h"
#include "schemas/log_record.h"
#include "schemas/tlog_proof.h"
#include "server/service/decisions/decide.h"

namespace assay::server {
namespace {

// A record with its proof and quotation marks around it.
constexpr std::size_t kEntryOverhead = 4096;

class Exporter {
 public:
  Exporter(storage::Snapshot& snapshot, storage::LogState log, TreeSize known)
      : snapshot_(snapshot), log_(std::move(log)), known_(known) {}

  // The document itself, kept for the export.
  Result<Json> add_document(const DocumentId& id) {
    auto found = file_.documents.find(id);
    if (found == file_.documents.end()) {
      ASSAY_ASSIGN(const storage::Document document, snapshot_.document(id));
      ASSAY_TRY(take(document.bytes.size()));
      found = file_.documents.emplace(id, as_text(document.bytes)).first;
    }
    return parse_json(found->second, {.max_bytes = kMaxExportedBytes});
  }

  Status add_entry(LeafIndex index) {
    if (!indexes_.insert(index).second) {
      return {};
    }
    ASSAY_ASSIGN(const Bytes bytes, snapshot_.log_record(index));
    ASSAY_TRY(take(bytes.size() + kEntryOverhead));
    ASSAY_ASSIGN(const LogRecord record, parse_log_record(bytes));
    if (record.type == event::kStatementWithdrawn) {
      const auto withdrawn = StatementId::parse(text_at(record.detail, "statement"));
      if (withdrawn && !statements_.contains(*withdrawn)) {
        return {};  // a link of the chain alone
      }
    }
    for (const DocumentId& id : record.documents) {
      ASSAY_TRY(add_document(id));
    }
    return {};
  }

  // All records of a type, or of types that begin so, about `subject` if it is not empty, below
  // `below`.
  Status add_events(std::string_view type, const std::string& subject, TreeSize below) {
    storage::EventQuery query;
    query.type = type;
    query.subject = subject;
    query.bounds.limit = 1000;
    query.bounds.below = below;
    do {
      ASSAY_ASSIGN(const auto page, snapshot_.events(query));
      for (const storage::EventRow& row : page.items) {
        ASSAY_TRY(add_entry(row.index));
        approved_.insert(row.record.subjects.begin(), row.record.subjects.end());
      }
      query.bounds.after = page.next;
    } while (query.bounds.after);
    return {};
  }

  // Trust and the policies in force, from their beginning to the decision; keys of the service to
  // the end of the log.
  Status add_governance() {
    ASSAY_TRY(add_events("trust.", {}, known_));
    ASSAY_TRY(add_events(event::kStatementWithdrawn, {}, known_));
    ASSAY_TRY(add_events("key.", {}, log_.size));
    ASSAY_TRY(add_events(event::kLogReopened, {}, log_.size));
    approved_.clear();
    ASSAY_TRY(add_events(event::kPolicyActivated, {}, known_));
    ASSAY_TRY(add_events(event::kPolicyDeactivated, {}, known_));
    for (const std::string& id : std::exchange(approved_, {})) {
      ASSAY_ASSIGN(const StatementId policy, StatementId::parse(id));
      ASSAY_TRY(add_statement(policy));
    }
    return {};
  }

  // The records that name signatures of the statement.
  Status add_statement(const StatementId& id) {
    if (!statements_.insert(id).second) {
      return {};
    }
    ASSAY_ASSIGN(const storage::StatementRow row, snapshot_.statement(id));
    for (const storage::SignerRow& signer : row.signers) {
      if (signer.log_index < known_) {
        ASSAY_TRY(add_entry(signer.log_index));
      }
    }
    return {};
  }

  Status add_case(const DocumentId& id) {
    const policy::ReadPart read = [this](const DocumentId& part) { return add_document(part); };
    ASSAY_ASSIGN(const policy::CaseHead head, policy::read_case(read, id));
    for (const Json& member : head.models) {
      ASSAY_ASSIGN(const policy::CaseModelFacts model, policy::read_case_model(read, member));
      for (const policy::ManifestFact& manifest : model.facts.manifests) {
        ASSAY_TRY(add_statement(manifest.statement.id));
      }
      for (const policy::PlacementFact& placement : model.facts.placements) {
        ASSAY_TRY(add_statement(placement.statement.id));
      }
      for (const policy::StatementFact& statement : model.facts.statements) {
        ASSAY_TRY(add_statement(statement.id));
      }
      if (model.facts.lineage) {
        for (const auto& statement : model.facts.lineage->statements()) {
          ASSAY_TRY(add_statement(statement->fact.id));
        }
      }
    }
    return {};
  }

  Result<DecisionExport> finish(const std::string& decision) && {
    file_.decision = decision;
    for (const LeafIndex index : indexes_) {
      ASSAY_ASSIGN(const Bytes record, snapshot_.log_record(index));
      ASSAY_ASSIGN(auto path, snapshot_.inclusion_proof(index, log_.size));
      file_.entries.push_back(
          {std::string(as_text(record)), encode(TlogProof{index, std::move(path), log_.note})});
    }
    return std::move(file_);
  }

 private:
  Status take(std::size_t bytes) {
    bytes_ += bytes;
    return bytes_ <= kMaxExportedBytes
               ? Status()
               : fail(ErrorCode::kLimitExceeded,
                      "what the decision rests on is longer than 32 MiB, so it cannot be exported");
  }

  storage::Snapshot& snapshot_;
  storage::LogState log_;
  TreeSize known_;  // size of the log when the case was read
  DecisionExport file_{};
  std::set<LeafIndex> indexes_{};
  std::set<StatementId> statements_{};
  std::set<std::string> approved_{};  // subjects of the events that were added
  std::size_t bytes_ = 0;
};

}  // namespace

Result<DecisionExport> export_decision(storage::Snapshot& snapshot,
                                       const std::string& decision_id) {
  ASSAY_ASSIGN(const storage::DecisionRow row, snapshot.decision(decision_id));
  ASSAY_ASSIGN(storage::LogState log, snapshot.log_state());
  if (row.log_index >= log.size) {
    return fail(ErrorCode::kUnavailable, "the decision is not in the signed log yet; ask again");
  }
  ASSAY_ASSIGN(const Json decision, load_signed_decision(snapshot, row));
  const auto facts = DocumentId::parse(decision.value("facts", ""));
  const auto results = DocumentId::parse(decision.value("results", ""));
  const Json known = decision.value("tree_size", Json());
  if (!facts || !results || !known.is_number_unsigned()) {
    return fail(ErrorCode::kCaseUnsupported, "the decision was made in another format");
  }
  Exporter exporter(snapshot, std::move(log), known.get<TreeSize>());
  ASSAY_TRY(exporter.add_case(*facts));
  ASSAY_TRY(exporter.add_document(*results));
  ASSAY_TRY(exporter.add_entry(row.log_index));
  ASSAY_TRY(exporter.add_governance());
  return std::move(exporter).finish(decision_id);
}

}  // namespace assay::server
