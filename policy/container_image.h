// SPDX-License-Identifier: Apache-2.0
// A container of a workload: its image, and what it may do. A part of the workload
// (policy/facts.h).
#pragma once

#include <optional>
#include <string>

#include "schemas/core/digest.h"

namespace assay::policy {

struct ContainerImage {
  std::string container;
  std::string image;  // as the pod writes it
  bool init = false;
  // True when the container may remount its read-only volumes as writable, or reach them outside of
  // its mounts. Reasons: privileges, capabilities, mounts that propagate, or the node's processes
  // or devices.
  bool remounts = false;
  // run_list_digest() (policy/filler.h) of what the pod says the container runs. Only of init
  // containers; absent: not known.
  std::optional<Digest> command{};
  std::optional<Digest> args{};
};

}  // namespace assay::policy
