// SPDX-License-Identifier: Apache-2.0
// Manifests, attestations, and what is known about a model.

#include <algorithm>
#include <set>

#include "attestation/dsse.h"
#include "schemas/core/sha.h"
#include "schemas/stage_evidence.h"
#include "server/api/filters.h"
#include "server/api/handlers.h"
#include "server/api/statement_routes.h"
#include "server/api/view.h"
#include "server/http/target.h"
#include "server/service/documents/accept.h"
#include "server/service/nodes/stage_evidence.h"

namespace assay::server {
namespace {

constexpr std::size_t kMaxModelStatements = 1000;

Status add_filters(const Call& call, storage::StatementQuery& query) {
  if (const auto artifact = call.parameter("artifact")) {
    ASSAY_ASSIGN(const ArtifactId id, ArtifactId::parse(*artifact));
    query.subject = id.text();
  }
  if (call.parameter("subject")) {
    ASSAY_ASSIGN(query.subject, filter(call, "subject", Form::kDigest));
  }
  if (const auto signer = call.parameter("signer")) {
    ASSAY_ASSIGN(query.signer, KeyId::parse(*signer));
  }
  ASSAY_ASSIGN(query.name, filter(call, "name", Form::kModel));
  ASSAY_ASSIGN(query.predicate_type, filter(call, "predicate_type", Form::kPredicateType));
  ASSAY_ASSIGN(query.stage, filter(call, "stage", Form::kStage));
  ASSAY_ASSIGN(query.since, time_parameter(call, "since"));
  ASSAY_ASSIGN(query.until, time_parameter(call, "until"));
  return {};
}

Result<Response> list(Api& api, const Call& call, storage::StatementKind kind) {
  ASSAY_ASSIGN(const ListRequest request, list_request(api, call));
  storage::StatementQuery query;
  query.kind = kind;
  query.bounds = request.bounds;
  ASSAY_TRY(add_filters(call, query));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(ListPage page, statement_page(*snapshot, query, ShortPage::kEnds));
  return list_response(api, call, request, std::move(page));
}

Result<Response> get(Api& api, const Call& call, storage::StatementKind kind) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::StatementRow row, find_statement(*snapshot, call, kind));
  if (call.media_type != kJson) {
    return envelope_response(*snapshot, call, row.envelopes.back());
  }
  ASSAY_ASSIGN(const Json view, statement_view(*snapshot, row));
  return with_etag(call, json_response(200, view), kRevalidate);
}

}  // namespace

Result<ListPage> statement_page(storage::Snapshot& snapshot, storage::StatementQuery query,
                                ShortPage on_short) {
  return page_of(
      query.bounds, on_short,
      [&](const storage::ListBounds& bounds) {
        query.bounds = bounds;
        return snapshot.statements(query);
      },
      [&](const storage::StatementRow& row) { return statement_view(snapshot, row); },
      [](const storage::StatementRow& row) { return row.log_index; });
}

Result<storage::StatementRow> find_statement(storage::Snapshot& snapshot, const Call& call,
                                             storage::StatementKind kind) {
  ASSAY_ASSIGN(const StatementId id, StatementId::parse(call.capture("id")));
  ASSAY_ASSIGN(storage::StatementRow row, snapshot.statement(id));
  if (row.kind != kind) {
    return fail(ErrorCode::kNotFound, "there is no such " + std::string(name(kind)));
  }
  return row;
}

Result<Response> envelope_response(storage::Snapshot& snapshot, const Call& call,
                                   const DocumentId& id) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(id));
  Response response;
  response.content_type = document.media_type;
  response.body = std::string(as_text(document.bytes));
  return with_etag(call, std::move(response), kRevalidate);
}

Result<Json> signed_payload(storage::Snapshot& snapshot, const DocumentId& envelope) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(envelope));
  ASSAY_ASSIGN(const attestation::Envelope parsed, attestation::parse_envelope(document.bytes));
  return parse_json(parsed.payload);
}

Result<Response> accepted_response(Api& api, const Accepted& accepted, const std::string& path) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(Json view, statement_view(*snapshot, accepted.row));
  const std::string tag = '"' + sha256(as_bytes(view.dump())).hex() + '"';
  view["log"] = accepted.receipt;
  view["record"] = accepted.record;
  Response response = json_response(accepted.created ? 201 : 200, view);
  response.headers.emplace_back("Location", path + "/" + accepted.row.id.text());
  response.headers.emplace_back("ETag", tag);
  return response;
}

Result<Response> post_manifest(Api& api, const Call& call) {
  ASSAY_ASSIGN(const Accepted accepted,
               accept_manifest(api.services, call.request.body, call.principal));
  return accepted_response(api, accepted, "/v1/manifests");
}

Result<Response> list_manifests(Api& api, const Call& call) {
  return list(api, call, storage::StatementKind::kManifest);
}

Result<Response> get_manifest(Api& api, const Call& call) {
  return get(api, call, storage::StatementKind::kManifest);
}

namespace {

bool is_stage_evidence(ByteView body) {
  const auto envelope = attestation::parse_envelope(body);
  return envelope && envelope->payload_type == kStageEvidencePayloadType;
}

Result<Response> post_stage_evidence(Api& api, const Call& call) {
  ASSAY_ASSIGN(const AcceptedStageEvidence accepted,
               accept_stage_evidence(api.services, call.request.body, call.principal));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const StageRow stage, stage_row(accepted.row));
  ASSAY_ASSIGN(const Bytes record, snapshot->log_record(accepted.log_index));
  Json view = {{"statement", stage.statement.text()}, {"log", accepted.receipt}};
  ASSAY_ASSIGN(view["record"], parse_json(record));
  ASSAY_ASSIGN(view["evidence"], stage_evidence_view(*snapshot, stage.statement));
  Response response = json_response(accepted.created ? 201 : 200, view);
  response.headers.emplace_back("Location", "/v1/attestations/" + stage.statement.text());
  return response;
}

}  // namespace

Result<Response> post_attestation(Api& api, const Call& call) {
  if (is_stage_evidence(call.request.body)) {
    return post_stage_evidence(api, call);
  }
  ASSAY_ASSIGN(const Accepted accepted,
               accept_attestation(api.services, call.request.body, call.principal));
  return accepted_response(api, accepted, "/v1/attestations");
}

Result<Response> list_attestations(Api& api, const Call& call) {
  return list(api, call, storage::StatementKind::kAttestation);
}

Result<Response> get_attestation(Api& api, const Call& call) {
  return get(api, call, storage::StatementKind::kAttestation);
}

Result<Response> get_model(Api& api, const Call& call) {
  ASSAY_ASSIGN(const ArtifactId artifact, ArtifactId::parse(call.capture("artifact")));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  storage::StatementQuery query;
  query.subject = artifact.text();
  query.bounds.limit = kMaxModelStatements;
  ASSAY_ASSIGN(ListPage page, statement_page(*snapshot, query, ShortPage::kGoesOn));
  if (page.items.empty()) {
    return fail(ErrorCode::kNotFound, "nothing is known about this artifact");
  }
  std::set<std::string> names;
  Json manifests = Json::array();
  Json attestations = Json::array();
  for (Json& view : page.items) {
    if (view["kind"] == name(storage::StatementKind::kManifest)) {
      names.insert(view["name"].get<std::string>());
      manifests.push_back(std::move(view));
    } else {
      attestations.push_back(std::move(view));
    }
  }
  Json body = {{"artifact", artifact.text()},
               {"names", names},
               {"manifests", std::move(manifests)},
               {"attestations", std::move(attestations)},
               {"truncated", page.next.has_value()},
               {"tree_size", page.tree_size},
               {"root", page.root.hex()}};
  if (page.next) {
    const std::string id = percent_encode(artifact.text());
    body["rest"] = {"/v1/manifests?artifact=" + id, "/v1/attestations?subject=" + id};
  }
  return with_etag(call, json_response(200, body), kRevalidate);
}

}  // namespace assay::server
