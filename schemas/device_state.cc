// SPDX-License-Identifier: Apache-2.0
#include "schemas/device_state.h"

#include "schemas/document.h"

namespace assay {

static DeviceState start(json::As<DeviceState>) {
  return {.vendor = {},
          .kind = {},
          .identity = json::unread<Digest>(),
          .architecture = {},
          .mode = {},
          .driver = {},
          .firmware = {},
          .measurements = {},
          .rim = {},
          .revocation = {},
          .debug = {}};
}
static auto members_of(json::As<DeviceState>) {
  using T = DeviceState;
  return std::tuple(json::always("vendor", &T::vendor), json::always("kind", &T::kind),
                    json::always("identity", &T::identity),
                    json::always("architecture", &T::architecture), json::if_set("mode", &T::mode),
                    json::if_set("driver", &T::driver), json::always("firmware", &T::firmware),
                    json::always("measurements", &T::measurements),
                    json::if_set("waived", &T::waived), json::always("rim", &T::rim),
                    json::always("revocation", &T::revocation), json::always("debug", &T::debug),
                    json::if_set("bus", &T::bus), json::if_set("neighbours", &T::neighbours));
}
Json to_json(const DeviceState& device) { return json::write(device); }
Result<DeviceState> read_json(json::As<DeviceState> /*type*/, const Json& json) {
  return json::read<DeviceState>(json);
}

}  // namespace assay
