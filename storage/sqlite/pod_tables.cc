// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/pod_tables.h"

#include "storage/large_workload.h"
#include "storage/sqlite/columns.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {
namespace {

// Rows that one write makes forgotten: more than it adds, so that the table shrinks, and few, so
// that a write stays short.
constexpr int kForgetAtOnce = 16;
constexpr std::size_t kMaxPage = 1000;

Json to_json(const std::vector<DecidedModel>& models) {
  Json json = Json::array();
  for (const DecidedModel& model : models) {
    json.push_back({{"artifact", model.artifact.text()}, {"name", model.name}});
  }
  return json;
}

bool is_model(const Json& json) {
  return json.is_object() && json.size() == 2 && json.contains("artifact") &&
         json["artifact"].is_string() && json.contains("name") && json["name"].is_string();
}

Result<std::vector<DecidedModel>> models_from(const Query& query, int column) {
  ASSAY_ASSIGN(const Json json, json_column(query, column));
  if (!json.is_array()) {
    return fail(ErrorCode::kDataLoss, "the models of a stored pod cannot be read");
  }
  std::vector<DecidedModel> models;
  for (const Json& model : json) {
    const std::string id = is_model(model) ? model["artifact"].get<std::string>() : std::string();
    const auto artifact = ArtifactId::parse(id);
    if (!artifact) {
      return fail(ErrorCode::kDataLoss, "the models of a stored pod cannot be read");
    }
    models.push_back({*artifact, model["name"].get<std::string>()});
  }
  return models;
}

Result<std::vector<std::string>> nodes_from(const Query& query, int column) {
  ASSAY_ASSIGN(const Json json, json_column(query, column));
  std::vector<std::string> nodes;
  for (const Json& node : json) {
    if (!json.is_array() || !node.is_string()) {
      return fail(ErrorCode::kDataLoss, "the nodes of a stored pod cannot be read");
    }
    nodes.push_back(node.get<std::string>());
  }
  return nodes;
}

// A long workload is a document, and the row has its id. So a workload that is a text is refused:
// it would be read as the id of one.
Result<std::string> workload_text(Connection& connection, const Json& workload) {
  if (workload.is_string()) {
    return fail(ErrorCode::kInvalidParameter, "the workload of a pod is no text");
  }
  ASSAY_ASSIGN(const auto large, large_workload(workload));
  if (!large) {
    return canonical_json(workload);
  }
  ASSAY_TRY(put_document(connection, "application/json", as_bytes(large->bytes)));
  return canonical_json(large->id.text());
}

std::unexpected<Error> unreadable_workload() {
  return fail(ErrorCode::kDataLoss, "the workload of a stored pod cannot be read");
}

Result<Json> workload_from(Connection& connection, Json column) {
  if (!column.is_string()) {
    return column;
  }
  const auto id = DocumentId::parse(column.get_ref<const std::string&>());
  ASSAY_ASSIGN(const Document document,
               id ? load_document(connection, *id) : Result<Document>(unreadable_workload()));
  auto workload = parse_json(document.bytes);
  if (!workload) {
    return unreadable_workload();
  }
  return workload;
}

// Removes the entries of the rows that `query` deletes and returns the names of.
Status erase_all(Connection& connection, Sealed kind, Query& query) {
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return {};
    }
    std::string name = query.text(0);
    for (int column = 1; column < query.columns(); ++column) {
      name = seal_name({name, query.text(column)});
    }
    ASSAY_TRY(erase_seal(connection, kind, name));
  }
}

Status forget(Connection& connection, bool bound, Timestamp before) {
  Query query = connection.query(Sql::kPodForget);
  query.bind(bound ? 1 : 0).bind(before).bind(kForgetAtOnce);
  return erase_all(connection, Sealed::kPod, query);
}

}  // namespace

Result<PodRow> load_pod(Connection& connection, const std::string& cluster,
                        const std::string& uid) {
  Query query = connection.query(Sql::kPodGet);
  ASSAY_ASSIGN(const bool found, query.bind(cluster).bind(uid).next());
  if (!found) {
    ASSAY_TRY(check_absent(connection, Sealed::kPod, seal_name({cluster, uid})));
    return fail(ErrorCode::kNotFound, "no pod was admitted under this uid", uid);
  }
  ASSAY_TRY(check_seal(connection, Sealed::kPod, seal_name({cluster, uid}), query));
  ASSAY_ASSIGN(std::vector<DecidedModel> models, models_from(query, 5));
  ASSAY_ASSIGN(std::vector<std::string> nodes, nodes_from(query, 2));
  ASSAY_ASSIGN(Json column, json_column(query, 6));
  ASSAY_ASSIGN(Json workload, workload_from(connection, std::move(column)));
  return PodRow{.cluster = cluster,
                .uid = uid,
                .name_space = query.text(0),
                .name = query.text(1),
                .nodes = std::move(nodes),
                .settled = query.text(3),
                .decision = query.text(4),
                .models = std::move(models),
                .workload = std::move(workload),
                .admitted_at = query.time(7)};
}

Result<std::vector<PodRow>> load_pods(Connection& connection, const PodKey& after,
                                      std::size_t limit) {
  if (limit < 1 || limit > kMaxPage) {
    return fail(ErrorCode::kInvalidParameter, "the limit of a page is 1 to 1000");
  }
  std::vector<PodKey> keys;
  {
    Query query = connection.query(Sql::kPodList);
    query.bind(after.cluster).bind(after.uid).bind(limit);
    while (true) {
      ASSAY_ASSIGN(const bool found, query.next());
      if (!found) {
        break;
      }
      keys.push_back({query.text(0), query.text(1)});
    }
  }
  std::vector<PodRow> pods;
  for (const PodKey& key : keys) {
    ASSAY_ASSIGN(PodRow pod, load_pod(connection, key.cluster, key.uid));
    pods.push_back(std::move(pod));
  }
  return pods;
}

Status put_pod(Connection& connection, const PodRow& row, Timestamp now) {
  ASSAY_TRY(forget(connection, false, now - kKeepUnboundPod));
  ASSAY_TRY(forget(connection, true, now - kKeepBoundPod));
  ASSAY_ASSIGN(const std::string models, canonical_json(to_json(row.models)));
  ASSAY_ASSIGN(const std::string nodes, canonical_json(Json(row.nodes)));
  ASSAY_ASSIGN(const std::string workload, workload_text(connection, row.workload));
  ASSAY_TRY(connection.query(Sql::kPodPut)
                .bind(row.cluster)
                .bind(row.uid)
                .bind(row.name_space)
                .bind(row.name)
                .bind(nodes)
                .bind(row.settled)
                .bind(row.nodes.empty() && row.settled.empty() ? 0 : 1)
                .bind(row.decision)
                .bind(models)
                .bind(workload)
                .bind(row.admitted_at)
                .run());
  Query query = connection.query(Sql::kPodGet);
  return keep_seal(connection, Sealed::kPod, seal_name({row.cluster, row.uid}),
                   query.bind(row.cluster).bind(row.uid));
}

Status remove_pod(Connection& connection, const std::string& cluster, const std::string& uid) {
  ASSAY_TRY(connection.query(Sql::kPodRemove).bind(cluster).bind(uid).run());
  return erase_seal(connection, Sealed::kPod, seal_name({cluster, uid}));
}

Result<ClaimRow> load_claim(Connection& connection, const std::string& cluster,
                            const std::string& name_space, const std::string& name) {
  Query query = connection.query(Sql::kClaimGet);
  ASSAY_ASSIGN(const bool found, query.bind(cluster).bind(name_space).bind(name).next());
  if (!found) {
    ASSAY_TRY(check_absent(connection, Sealed::kClaim, seal_name({cluster, name_space, name})));
    return fail(ErrorCode::kNotFound, "nothing is known of this claim", name_space + "/" + name);
  }
  ASSAY_TRY(check_seal(connection, Sealed::kClaim, seal_name({cluster, name_space, name}), query));
  return ClaimRow{cluster, name_space, name, query.text(0), query.text(1), query.time(2)};
}

Status put_claim(Connection& connection, const ClaimRow& row, Timestamp now) {
  {
    Query query = connection.query(Sql::kClaimForget);
    query.bind(now - kKeepClaim).bind(kForgetAtOnce);
    ASSAY_TRY(erase_all(connection, Sealed::kClaim, query));
  }
  ASSAY_TRY(connection.query(Sql::kClaimPut)
                .bind(row.cluster)
                .bind(row.name_space)
                .bind(row.name)
                .bind(row.uid)
                .bind(row.volume)
                .bind(now)
                .run());
  Query query = connection.query(Sql::kClaimGet);
  return keep_seal(connection, Sealed::kClaim, seal_name({row.cluster, row.name_space, row.name}),
                   query.bind(row.cluster).bind(row.name_space).bind(row.name));
}

Status remove_claim(Connection& connection, const std::string& cluster,
                    const std::string& name_space, const std::string& name,
                    const std::string& uid) {
  Query query = connection.query(Sql::kClaimRemove);
  ASSAY_ASSIGN(const bool removed,
               query.bind(cluster).bind(name_space).bind(name).bind(uid).next());
  return removed ? erase_seal(connection, Sealed::kClaim, seal_name({cluster, name_space, name}))
                 : Status();
}

}  // namespace assay::storage::sqlite
