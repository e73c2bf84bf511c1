// SPDX-License-Identifier: Apache-2.0
#include "cli/workload.h"

#include <utility>

namespace assay::cli {

void add_workload_options(const Command& verb, WorkloadFlags& flags) {
  verb.option("--namespace", flags.name_space, "NAME", "namespace of the workload");
  verb.option("--label", flags.labels, "NAME=VALUE", "label of the workload; may be given again");
  verb.option("--resource", flags.resources, "NAME",
              "resource that it asks for, such as nvidia.com/gpu; may be given again");
  verb.option("--node", flags.node, "NAME", "node that it goes to; for the points bind and serve");
}

Result<policy::Workload> workload_from(const WorkloadFlags& flags) {
  policy::Workload workload{flags.name_space, {}, flags.resources, flags.node};
  for (const std::string& text : flags.labels) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorCode::kUsage, "A label is written as name=value", text);
    }
    if (!workload.labels.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      return fail(ErrorCode::kUsage, "The label is given twice", text);
    }
  }
  return workload;
}

Result<policy::Workload> workload_from(const Json& json) {
  policy::Workload workload;
  bool good = json.is_object();
  for (const auto& [name, value] : json.items()) {
    if (name == "namespace" && value.is_string()) {
      workload.name_space = value.get<std::string>();
    } else if (name == "node" && value.is_string()) {
      workload.node = value.get<std::string>();
    } else if (name == "labels" && value.is_object()) {
      for (const auto& [label, text] : value.items()) {
        good = good && text.is_string();
        workload.labels[label] = text.is_string() ? text.get<std::string>() : "";
      }
    } else if (name == "resources" && value.is_array()) {
      for (const Json& item : value) {
        good = good && item.is_string();
        workload.resources.push_back(item.is_string() ? item.get<std::string>() : "");
      }
    } else {
      good = false;
    }
  }
  if (!good) {
    return fail(ErrorCode::kSchemaViolation,
                "A workload has namespace (text), labels (object of texts), resources (texts) and "
                "node (text)");
  }
  return workload;
}

}  // namespace assay::cli
