// SPDX-License-Identifier: Apache-2.0
// The workload of a decision request, from flags.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "policy/facts.h"

namespace assay::cli {

struct WorkloadFlags {
  std::string name_space;
  std::vector<std::string> labels;
  std::vector<std::string> resources;
  std::vector<std::string> accelerators;
  std::string node;
};

void add_workload_options(const Command& verb, WorkloadFlags& flags);

[[nodiscard]] Result<policy::Workload> workload_from(const WorkloadFlags& flags);

}  // namespace assay::cli
