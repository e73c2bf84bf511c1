// SPDX-License-Identifier: Apache-2.0
// The codec of a device in the facts document.
#include "policy/device_fact.h"

#include "schemas/document.h"

namespace assay::policy {

static auto members_of(json::As<DeviceFact>) {
  using T = DeviceFact;
  return std::tuple(
      json::always("uuid", &T::uuid), json::always("appraised_at", &T::appraised_at),
      json::always("current", &T::current), json::if_set("error", &T::error),
      json::if_set("valid_until", &T::valid_until), json::if_set("anchor", &T::anchor),
      json::always("anchor_is_vendor", &T::anchor_is_vendor), json::if_set("state", &T::state));
}
Json to_json(const DeviceFact& device) { return json::write(device); }
Result<DeviceFact> read_json(json::As<DeviceFact> /*type*/, const Json& json) {
  return json::read<DeviceFact>(json);
}

}  // namespace assay::policy
