// SPDX-License-Identifier: Apache-2.0
// Pods as tests write them, and what is read of them.
#pragma once

#include <string>
#include <utility>

#include "server/service/kubernetes/pod.h"

namespace assay::server::test {

// One container "server" that mounts volume "v" with source `source` at /models.
inline Json pod_with(const Json& source, Json mount = Json::object()) {
  Json volume = source;
  volume["name"] = "v";
  mount["name"] = "v";
  if (!mount.contains("mountPath")) {
    mount["mountPath"] = "/models";
  }
  return {{"containers",
           {{{"name", "server"}, {"image", "serving:1"}, {"volumeMounts", Json::array({mount})}}}},
          {"volumes", Json::array({volume})}};
}

inline Result<policy::Workload> read(Json spec, Json metadata = Json::object()) {
  const Json pod = {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
  return workload_of(pod_of("Pod", pod).value(), "prod");
}

inline Json claim(const std::string& name) {
  return {{"persistentVolumeClaim", {{"claimName", name}}}};
}

}  // namespace assay::server::test
