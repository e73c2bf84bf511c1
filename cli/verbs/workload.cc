// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/workload.h"

namespace assay::cli {

void add_workload_options(const Command& verb, WorkloadFlags& flags) {
  verb.option("--namespace", flags.name_space, "NAME", "namespace of the workload");
  verb.option("--label", flags.labels, "NAME=VALUE", "label of the workload; may be given again");
  verb.option("--resource", flags.resources, "NAME",
              "resource that it asks for, such as nvidia.com/gpu; may be given again");
  verb.option(
      "--accelerator", flags.accelerators, "WAY",
      "way to an accelerator that its pod has, such as resource-claims or privileged; may be "
      "given again");
  verb.option("--node", flags.node, "NAME", "node that it goes to; for the points bind and serve");
}

Result<policy::Workload> workload_from(const WorkloadFlags& flags) {
  policy::Workload workload{flags.name_space, {}, flags.resources, flags.node};
  workload.accelerators = flags.accelerators;
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

}  // namespace assay::cli
