// SPDX-License-Identifier: Apache-2.0
// Random facts about the memory of instances, and demands on it.
#include "tests/policy/random_case.h"

namespace assay::policy::test {

namespace {

std::vector<std::string> layout_digests() {
  return {"sha256:" + std::string(64, '1'), "sha256:" + std::string(64, '2')};
}

}  // namespace

using Names = std::vector<std::string>;

// One thing that a demand may be about.
void RandomCase::spoil(MemoryFact& memory) {
  switch (below(6)) {
    case 4:
      memory.layout = MemoryLayout{LayoutKind::kRecipe, pick(layout_digests()), one_in(3)};
      if (one_in(3)) {
        memory.layout = {LayoutKind::kPublished, "assay-tree-v1-" + memory.layout->digest, false};
      }
      break;
    case 0:
      memory.staged = 1;
      break;
    case 1:
      memory.uncovered = 65;
      break;
    case 2:
      memory.redrawn = 15;
      break;
    case 3:
      memory.device_bytes = 101;
      break;
    default:
      memory.device_bytes = pick(std::vector<std::optional<std::uint64_t>>{{}, 0, 49});
  }
}

void RandomCase::make_memory(ReportFact& report) {
  std::swap(engine_, memory_engine_);
  report.location.clear();
  report.volume.clear();
  report.pod_volume.clear();
  report.pod = wrong_in(4) ? pick(Names{"", "uid-2"}) : "uid-1";
  report.instance = pick(Names{"main", "main", "draft"});
  if (!wrong_in(12)) {
    report.memory.emplace();
    report.memory->in_place = 100;
    report.memory->registered = 100;
    report.memory->uncovered = 64;
    report.memory->on_devices = 50;
    report.memory->device_bytes = 100;
    report.memory->redrawn = 16;
    if (one_in(2)) {
      spoil(*report.memory);
    }
  }
  std::swap(engine_, memory_engine_);
}

std::vector<InstanceFact> RandomCase::instances() {
  std::swap(engine_, memory_engine_);
  std::vector<InstanceFact> found;
  for (const char* name : {"main", "draft"}) {
    if (wrong_in(4) || (found.size() == 1 && one_in(2))) {
      continue;
    }
    found.push_back({name,
                     wrong_in(2) ? pick(Names{"violated", "violated", "violated", "violated",
                                              "pending", "unknown", "ended", "ended"})
                                 : "verified",
                     wrong_in(4) ? pick(std::vector{from_now(-11), from_now(1)}) : from_now(-10)});
  }
  std::swap(engine_, memory_engine_);
  return found;
}

void RandomCase::demand_memory(MemoryDemands& demands) {
  std::swap(engine_, memory_engine_);
  demands.watched = !one_in(3);
  demands.in_place = one_in(3);
  if (one_in(3)) {
    demands.max_uncovered_bytes = 64;
  }
  if (one_in(2)) {
    demands.min_device_percent = 50;
  }
  if (one_in(3)) {
    demands.min_redrawn = 16;
  }
  if (one_in(2)) {
    demands.layouts.push_back(LayoutKind::kRecipe);
  }
  if (one_in(4)) {
    demands.layout_digests = {layout_digests().front()};
  }
  std::swap(engine_, memory_engine_);
}

}  // namespace assay::policy::test
