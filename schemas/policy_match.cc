// SPDX-License-Identifier: Apache-2.0
#include "schemas/policy_match.h"

#include <utility>

#include "schemas/members.h"

namespace assay {

WorkloadMatch match_from_json(const Json& json) {
  return {.namespaces = members::texts(json, "namespaces"),
          .labels = members::text_map(json, "labels"),
          .resources = members::texts(json, "resources"),
          .exclude_namespaces = members::texts(json, "exclude_namespaces"),
          .accelerators = json.contains("accelerators"),
          .harmless_resources = members::texts(json, "harmless_resources"),
          .nodes = members::texts(json, "nodes")};
}

Json to_json(const WorkloadMatch& match) {
  Json json = Json::object();
  for (const auto& [member, patterns] :
       {std::pair{"namespaces", &match.namespaces}, std::pair{"resources", &match.resources},
        std::pair{"exclude_namespaces", &match.exclude_namespaces},
        std::pair{"harmless_resources", &match.harmless_resources},
        std::pair{"nodes", &match.nodes}}) {
    if (!patterns->empty()) {
      json[member] = *patterns;
    }
  }
  if (!match.labels.empty()) {
    json["labels"] = match.labels;
  }
  if (match.accelerators) {
    json["accelerators"] = "any";
  }
  return json;
}

}  // namespace assay
