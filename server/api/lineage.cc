// SPDX-License-Identifier: Apache-2.0
// What a model was made from, and what was made from it, as a graph for people.

#include <charconv>
#include <set>

#include "server/api/filters.h"
#include "server/api/handlers.h"
#include "server/api/view.h"
#include "server/service/lineage/closure.h"
#include "server/service/references/resolve.h"

namespace assay::server {
namespace {

constexpr std::uint64_t kMaxDepth = 64;

Result<policy::LineageDirection> direction_of(const Call& call) {
  const std::string text = call.parameter("direction").value_or("up");
  if (text != "up" && text != "down") {
    return fail(ErrorCode::kInvalidParameter, "direction is up or down", "direction");
  }
  return text == "up" ? policy::LineageDirection::kUp : policy::LineageDirection::kDown;
}

Result<std::size_t> depth_of(const Call& call) {
  const std::string text = call.parameter("depth").value_or(std::to_string(kMaxDepth));
  std::uint64_t depth = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), depth);
  if (error != std::errc() || stop != text.data() + text.size() || depth < 1 || depth > kMaxDepth) {
    return fail(ErrorCode::kInvalidParameter, "depth is a number from 1 to 64", "depth");
  }
  return depth;
}

Json statement_json(const policy::LineageStatement& statement) {
  const policy::StatementFact& fact = statement.fact;
  Json json = {{"id", fact.id.text()},
               {"kind", statement.manifest ? "manifest" : "attestation"},
               {"predicate_type", fact.predicate_type},
               {"accepted_at", to_rfc3339(fact.accepted_at)},
               {"signers", Json::array()}};
  for (const policy::SignerFact& signer : fact.signers) {
    json["signers"].push_back({{"key_id", signer.key.id.text()},
                               {"identity", signer.key.identity},
                               {"revoked", is_revoked(signer.key, signer.signed_at)}});
  }
  if (!fact.stage.empty()) {
    json["stage"] = fact.stage;
  }
  if (fact.withdrawn) {
    json["withdrawn"] = {{"reason", fact.withdrawn->reason},
                         {"since", to_rfc3339(fact.withdrawn->since)},
                         {"by", fact.withdrawn->by},
                         {"standing", !policy::is_withdrawn(fact)}};
  }
  for (const policy::StageEvidenceFact& piece : fact.evidence) {
    json["evidence"].push_back({{"key_id", piece.key.text()},
                                {"type", piece.type},
                                {"tcb_status", piece.status_now},
                                {"accepted", piece.current && piece.error_now.empty()},
                                {"anchor_is_vendor", piece.anchor_is_vendor}});
  }
  if (statement.licence) {
    json["licence"] = *statement.licence;
  }
  if (statement.unread) {
    json["unread"] = true;
  }
  return json;
}

Json view_json(const policy::Lineage& lineage, const policy::LineageView& view) {
  Json nodes = Json::array();
  for (const policy::LineageView::Node& node : view.nodes) {
    Json statements = Json::array();
    for (const std::size_t s : node.statements) {
      statements.push_back(statement_json(*lineage.statements()[s]));
    }
    nodes.push_back({{"digests", node.digests},
                     {"names", node.names},
                     {"depth", node.depth},
                     {"missing", node.missing},
                     {"cycle", node.cycle},
                     {"statements", std::move(statements)}});
  }
  Json edges = Json::array();
  for (const policy::LineageView::Edge& edge : view.edges) {
    const policy::StatementFact& fact = lineage.statements()[edge.statement]->fact;
    Json one = {
        {"from", edge.from}, {"to", edge.to}, {"role", edge.role}, {"statement", fact.id.text()}};
    if (!fact.stage.empty()) {
      one["stage"] = fact.stage;
    }
    edges.push_back(std::move(one));
  }
  return {{"start", lineage.start()},
          {"nodes", std::move(nodes)},
          {"edges", std::move(edges)},
          {"reached", lineage.reached()}};
}

}  // namespace

Result<Response> get_lineage(Api& api, const Call& call) {
  ASSAY_ASSIGN(const ArtifactId artifact, ArtifactId::parse(call.capture("artifact")));
  ASSAY_ASSIGN(const policy::LineageDirection direction, direction_of(call));
  ASSAY_ASSIGN(const std::size_t depth, depth_of(call));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::LogState log, snapshot->log_state());
  const auto check = [&] { return check_deadline(api.services, call.request.deadline); };
  ASSAY_ASSIGN(const auto lineage,
               read_lineage(*snapshot, artifact.text(), direction, depth, check));
  const policy::LineageView view = policy::view_of(*lineage, direction, depth);
  const bool whole = lineage->reached().empty();
  if (whole && view.nodes.front().statements.empty() && view.edges.empty()) {
    return fail(ErrorCode::kNotFound, "nothing is known about this artifact");
  }
  Json body = view_json(*lineage, view);
  body["direction"] = direction == policy::LineageDirection::kUp ? "up" : "down";
  body["depth"] = depth;
  body["tree_size"] = log.size;
  body["root"] = log.root.hex();
  return with_etag(call, json_response(200, body), kRevalidate);
}

}  // namespace assay::server
