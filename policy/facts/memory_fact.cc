// SPDX-License-Identifier: Apache-2.0
// The parts of the facts document about memory.
#include "policy/memory_fact.h"

#include "schemas/core/json_object.h"

namespace assay::policy {

static auto members_of(json::As<MemoryFact>) {
  using T = MemoryFact;
  const auto is_share = [](double share) {
    return share >= 0 && share <= 1
               ? Status()
               : Status(fail(ErrorCode::kSchemaViolation, "this must be a number from 0 to 1"));
  };
  return std::tuple(
      json::always("world", &T::world), json::always("in_place", &T::in_place),
      json::always("on_devices", &T::on_devices), json::always("staged", &T::staged),
      json::always("registered", &T::registered), json::always("uncovered", &T::uncovered),
      json::if_set("device_bytes", &T::device_bytes), json::always("redrawn", &T::redrawn),
      json::if_set("read_by", &T::read_by), json::if_set("check", &T::check),
      json::if_set("staged_causes", &T::staged_causes),
      json::if_set("detection", &T::detection, json::checked(is_share)),
      json::if_set("uncovered_count", &T::uncovered_count), json::if_set("layout", &T::layout));
}
Json to_json(const MemoryFact& memory) { return json::write(memory); }
Result<MemoryFact> read_json(json::As<MemoryFact> /*type*/, const Json& json) {
  return json::read<MemoryFact>(json);
}

static auto members_of(json::As<InstanceFact>) {
  using T = InstanceFact;
  return std::tuple(json::always("instance", &T::instance), json::always("state", &T::state),
                    json::always("heard_at", &T::heard_at), json::if_set("findings", &T::findings),
                    json::if_set("watch", &T::watch));
}
Json to_json(const InstanceFact& instance) { return json::write(instance); }
Result<InstanceFact> read_json(json::As<InstanceFact> /*type*/, const Json& json) {
  return json::read<InstanceFact>(json);
}

}  // namespace assay::policy
