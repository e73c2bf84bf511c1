// SPDX-License-Identifier: Apache-2.0
#include "policy/memory_fact.h"

#include "policy/json_reader.h"

namespace assay::policy {

using reading::check_members;
using reading::Reader;

Json to_json(const MemoryFact& memory) {
  Json json = {{"world", memory.world},           {"in_place", memory.in_place},
               {"on_devices", memory.on_devices}, {"staged", memory.staged},
               {"registered", memory.registered}, {"uncovered", memory.uncovered},
               {"redrawn", memory.redrawn}};
  if (memory.device_bytes) {
    json["device_bytes"] = *memory.device_bytes;
  }
  return json;
}

Result<MemoryFact> memory_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(
      json, where,
      {"world", "in_place", "on_devices", "staged", "registered", "uncovered", "redrawn"},
      {"device_bytes"}));
  const Reader in{json, where};
  MemoryFact memory;
  ASSAY_ASSIGN(memory.world, in.number("world"));
  ASSAY_ASSIGN(memory.in_place, in.number("in_place"));
  ASSAY_ASSIGN(memory.on_devices, in.number("on_devices"));
  ASSAY_ASSIGN(memory.staged, in.number("staged"));
  ASSAY_ASSIGN(memory.registered, in.number("registered"));
  ASSAY_ASSIGN(memory.uncovered, in.number("uncovered"));
  ASSAY_ASSIGN(memory.redrawn, in.number("redrawn"));
  if (json.contains("device_bytes")) {
    ASSAY_ASSIGN(memory.device_bytes, in.number("device_bytes"));
  }
  return memory;
}

Json to_json(const InstanceFact& instance) {
  return {{"instance", instance.instance},
          {"state", instance.state},
          {"heard_at", to_rfc3339(instance.heard_at)}};
}

Result<InstanceFact> instance_from_json(const Json& json, const std::string& where) {
  ASSAY_TRY(check_members(json, where, {"instance", "state", "heard_at"}));
  const Reader in{json, where};
  InstanceFact instance;
  ASSAY_ASSIGN(instance.instance, in.text("instance"));
  ASSAY_ASSIGN(instance.state, in.text("state"));
  ASSAY_ASSIGN(instance.heard_at, in.time("heard_at"));
  return instance;
}

}  // namespace assay::policy
