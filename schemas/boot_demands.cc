// SPDX-License-Identifier: Apache-2.0
// Demands on the start of a machine: shape by policy.schema.json.
#include "schemas/boot_demands.h"

#include "schemas/members.h"

namespace assay {
namespace {

void put(Json& json, const char* name, const std::vector<std::string>& texts) {
  if (!texts.empty()) {
    json[name] = texts;
  }
}

}  // namespace

Json to_json(const BootDemands& demands) {
  Json json = {{"secure_boot", demands.secure_boot}};
  put(json, "kernels", demands.kernels);
  put(json, "initrds", demands.initrds);
  put(json, "command_lines", demands.command_lines);
  put(json, "others", demands.others);
  if (demands.allow_others) {
    json["dangerous_allow_others"] = true;
  }
  return json;
}

BootDemands read_boot_demands(const Json& json) {
  return {.secure_boot = json.value("secure_boot", false),
          .kernels = members::texts(json, "kernels"),
          .initrds = members::texts(json, "initrds"),
          .command_lines = members::texts(json, "command_lines"),
          .others = members::texts(json, "others"),
          .allow_others = json.value("dangerous_allow_others", false)};
}

}  // namespace assay
