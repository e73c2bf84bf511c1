// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/pod_list.h"

#include "server/service/impact/pod_judge.h"
#include "server/service/kubernetes/pod_node.h"
#include "storage/store.h"

namespace assay::server {
namespace {

Json listed_pod(const Services& services, const storage::PodRow& row) {
  JudgedPod pod{.point = DecisionPoint::kCreate, .node = node_of_pod(row, {}).node};
  if (!pod.node.empty()) {
    pod.point = DecisionPoint::kBind;
  }
  Json names = Json::array();
  for (const DecidedModel& model : row.models) {
    pod.models.push_back(model.artifact.text());
    names.push_back(model.name);
  }
  Json view = pod_view(services, row, pod);
  if (view["state"] != "admitted") {
    view["point"] = name(DecisionPoint::kServe);
  }
  view["names"] = std::move(names);
  view["admitted_at"] = to_rfc3339(row.admitted_at);
  if (!row.decision.empty()) {
    view["decision"] = row.decision;
  }
  return view;
}

}  // namespace

std::string pod_place(const storage::PodKey& key) { return key.cluster + "/" + key.uid; }

Result<storage::PodKey> pod_behind(const std::string& place) {
  if (place.empty()) {
    return storage::PodKey{};
  }
  // The name of a cluster may have slashes; a uid has none.
  const std::size_t slash = place.rfind('/');
  if (slash == std::string::npos || slash == 0) {
    return fail(ErrorCode::kInvalidParameter, "not the `next` of an answer", "after");
  }
  return storage::PodKey{place.substr(0, slash), place.substr(slash + 1)};
}

Result<Json> list_pods(Services& services, storage::Snapshot& snapshot, const std::string& after,
                       std::size_t limit) {
  ASSAY_ASSIGN(const storage::PodKey key, pod_behind(after));
  ASSAY_ASSIGN(auto rows, snapshot.pods(key, limit + 1));
  const bool more = rows.size() > limit;
  if (more) {
    rows.pop_back();
  }
  Json items = Json::array();
  for (const storage::PodRow& row : rows) {
    items.push_back(listed_pod(services, row));
  }
  Json answer = {{"items", std::move(items)}};
  if (more) {
    answer["next"] = pod_place({rows.back().cluster, rows.back().uid});
  }
  return answer;
}

}  // namespace assay::server
