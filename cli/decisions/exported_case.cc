// SPDX-License-Identifier: Apache-2.0
// The case of an exported decision, for tests of policies.
#include "attestation/dsse.h"
#include "cli/decisions/documents_of.h"
#include "cli/decisions/verify_export.h"
#include "schemas/core/json_at.h"
#include "schemas/log_record.h"
#include "schemas/statement.h"

namespace assay::cli {
namespace {

std::unexpected<Error> no_case() {
  return fail(ErrorCode::kExportInconsistent, "the file lacks its decision");
}

Result<Json> decision_in(const DecisionExport& file, ExportedDocuments& documents) {
  for (const ExportedEntry& entry : file.entries) {
    ASSAY_ASSIGN(const LogRecord record, parse_log_record(as_bytes(entry.record)));
    if (record.type == event::kDecisionMade && !record.documents.empty() &&
        text_at(record.detail, "decision_id") == file.decision) {
      ASSAY_ASSIGN(const auto envelope, documents.envelope(record.documents.front()));
      return parse_json(ByteView(envelope.payload));
    }
  }
  return no_case();
}

}  // namespace

Result<ExportedCase> read_exported_case(const DecisionExport& file) {
  ExportedDocuments documents(file);
  ASSAY_ASSIGN(const Json decision, decision_in(file, documents));
  const auto facts = DocumentId::parse(text_at(decision, "facts"));
  if (!facts) {
    return no_case();
  }
  ASSAY_ASSIGN(policy::CaseHead head, policy::read_case(documents.reader(), *facts));
  ExportedCase exported{
      {}, std::move(head.workload), head.point, std::move(head.preconditions), {}};
  ASSAY_ASSIGN(exported.evaluated_at, parse_rfc3339(text_at(decision, "evaluated_at")));
  for (const Json& member : head.models) {
    ASSAY_ASSIGN(policy::CaseModelFacts model, policy::read_case_model(documents.reader(), member));
    for (policy::StatementFact& fact : model.facts.statements.change()) {
      const auto place = model.envelopes.find(fact.id);
      if (place == model.envelopes.end()) {
        return no_case();
      }
      ASSAY_ASSIGN(const auto envelope, documents.envelope(place->second));
      ASSAY_ASSIGN(Statement statement, parse_statement(envelope.payload));
      fact.predicate = std::move(statement.predicate);
    }
    exported.models.push_back(std::move(model.facts));
  }
  return exported;
}

}  // namespace assay::cli
