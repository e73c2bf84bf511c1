// SPDX-License-Identifier: Apache-2.0
#include "schemas/policy_match.h"

#include "schemas/core/json_object.h"

namespace assay {
namespace {

// Its only value: a workload that can reach any accelerator.
constexpr auto kAnyAccelerator =
    json::by([](const Json&) -> Result<bool> { return true; }, [](bool) { return Json("any"); });

}  // namespace

static auto members_of(json::As<WorkloadMatch>) {
  using T = WorkloadMatch;
  return std::tuple(json::if_set("namespaces", &T::namespaces), json::if_set("labels", &T::labels),
                    json::if_set("resources", &T::resources),
                    json::if_set("exclude_namespaces", &T::exclude_namespaces),
                    json::if_set("accelerators", &T::accelerators, kAnyAccelerator),
                    json::if_set("harmless_resources", &T::harmless_resources),
                    json::if_set("nodes", &T::nodes));
}
Json to_json(const WorkloadMatch& match) { return json::write(match); }
Result<WorkloadMatch> read_json(json::As<WorkloadMatch> /*type*/, const Json& json) {
  return json::read<WorkloadMatch>(json);
}

}  // namespace assay
