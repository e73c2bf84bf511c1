// SPDX-License-Identifier: Apache-2.0
// What the parts of the node agent share; everything outlives them.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "cli/context.h"
#include "gpu_hash/engine.h"
#include "schemas/core/signer.h"
#include "schemas/enrolment.h"
#include "worker/events.h"
#include "worker/evidence.h"
#include "worker/map.h"
#include "worker/metrics.h"
#include "worker/service.h"

namespace assay::cli {

struct WorkerParts {
  const Context& context;
  std::string node;
  std::string identity_token_file;  // ServiceAccount token; empty: none
  const NodeMap& map;
  const Signer& signer;
  gpu_hash::Engine& engine;
  std::vector<NodeDevice> devices;
  EvidenceSource& evidence;
  WorkerService& service;
  Events& events;
  WorkerMetrics& metrics;
  std::stop_token drain;    // begin nothing new
  std::stop_token abandon;  // give up what is under way
};

}  // namespace assay::cli
