// SPDX-License-Identifier: Apache-2.0
#include "schemas/boot_demands.h"

#include "schemas/core/json_object.h"

namespace assay {

static auto members_of(json::As<BootDemands>) {
  using T = BootDemands;
  return std::tuple(
      json::or_default("secure_boot", &T::secure_boot), json::if_set("kernels", &T::kernels),
      json::if_set("initrds", &T::initrds), json::if_set("command_lines", &T::command_lines),
      json::if_set("others", &T::others), json::if_set("dangerous_allow_others", &T::allow_others));
}
Json to_json(const BootDemands& demands) { return json::write(demands); }
Result<BootDemands> read_json(json::As<BootDemands> /*type*/, const Json& json) {
  return json::read<BootDemands>(json);
}

}  // namespace assay
