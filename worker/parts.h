// SPDX-License-Identifier: Apache-2.0
// The inputs that the parts of the node agent share. All these objects must outlive the parts.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/engine.h"
#include "schemas/core/clock.h"
#include "schemas/core/random.h"
#include "schemas/core/signer.h"
#include "schemas/enrolment.h"
#include "worker/device_evidence.h"
#include "worker/events.h"
#include "worker/evidence.h"
#include "worker/instances/checks.h"
#include "worker/instances/device_bytes.h"
#include "worker/instances/instances.h"
#include "worker/instances/watch.h"
#include "worker/map.h"
#include "worker/metrics.h"
#include "worker/recipe/roots_memory.h"
#include "worker/service.h"

namespace assay::worker {

// Makes the callback for the progress of some work, such as "hashing acme/llama". The callback is
// destroyed when that work ends.
using ShowProgress = std::function<gpu_hash::Progress(const std::string& what)>;

struct Parts {
  Clock& clock;
  Random& random;
  std::string node;
  std::string identity_token_file;  // ServiceAccount token; empty: none
  const NodeMap& map;
  const Signer& signer;
  gpu_hash::Engine& engine;
  // Hashes the files of a job whose device failed; null: the job is given back.
  gpu_hash::Engine* fallback = nullptr;
  std::vector<NodeDevice> devices;
  EvidenceSource& evidence;
  Service& service;
  Events& events;
  Metrics& metrics;
  ShowProgress show_progress;
  std::stop_token drain;    // stop: begin no new work
  std::stop_token abandon;  // stop: give up running work
  // The registered model instances (docs/instances.md), what starts checks of their memory, and the
  // watch over the instances that a job verified. All are null when no process can register with
  // this node agent.
  Instances* instances = nullptr;
  Checks* checks = nullptr;
  InstanceWatch* watch = nullptr;
  // Asked for evidence of the accelerators at each enrolment; null: none is presented.
  DeviceEvidence* device_evidence = nullptr;
  DeviceDriver* driver = nullptr;  // asked how much device memory processes hold; null: unknown
  RootsMemory* roots = nullptr;    // of layouts; null: computed for each job
};

}  // namespace assay::worker
