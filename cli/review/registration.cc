// SPDX-License-Identifier: Apache-2.0
#include "cli/review/registration.h"

#include "cli/review/text.h"
#include "schemas/core/sha.h"
#include "schemas/registration.h"

namespace assay::cli {

namespace {

void describe_account(const Json& account, std::vector<std::string>& lines, std::size_t limit) {
  lines.push_back("    with a ServiceAccount token of " + quoted(account.value("issuer", Json())) +
                  " for " + quoted(account.value("subject", Json())) +
                  " that names the node it runs on");
  const Json keys = account.value("jwks", Json::object());
  const auto text = canonical_json(keys);
  lines.push_back("    the issuer's keys: " + std::to_string(list_of(keys, "keys").size()) + ", " +
                  (text ? sha256(as_bytes(*text)).text() : std::string("unreadable")));
  for (const auto& [member, value] : account.items()) {
    if (member != "issuer" && member != "subject" && member != "jwks") {
      for (const std::string& line : leaves(value, "service_account." + member, limit)) {
        lines.push_back("    " + line);
      }
    }
  }
}

}  // namespace

std::vector<std::string> describe_registration(const Json& registration, std::size_t limit) {
  const std::string node = text_of(registration, "node");
  std::vector<std::string> lines = {
      "registration " + quoted(registration.value("id", Json())) + ": the caller " +
          quoted(registration.value("principal", Json())) + " may enrol " +
          (is_pattern(node) ? "every node that fits " : "the node ") + quoted(Json(node)),
      "    live names that one platform may have: " +
          quoted(registration.value("nodes_per_platform", Json(1)))};
  const Json& platforms = list_of(registration, "platforms");
  lines.push_back(platforms.empty() ? "    on any platform" : "    on these platforms alone:");
  for (const std::string& line :
       platforms.empty() ? std::vector<std::string>() : leaves(platforms, "platforms", limit)) {
    lines.push_back("    " + line);
  }
  for (const auto& [member, value] : registration.items()) {
    if (member == "service_account" && value.is_object()) {
      describe_account(value, lines, limit);
    } else if (member != "id" && member != "node" && member != "principal" &&
               member != "nodes_per_platform" && member != "platforms") {
      for (const std::string& line : leaves(value, member, limit)) {
        lines.push_back("    " + line);
      }
    }
  }
  return lines;
}

std::string registration_flag(const std::string& path, const Json& before, const Json& after) {
  if (path.starts_with("platforms")) {
    return before.is_null() || after.is_null() ? "other platforms may enrol" : "another platform";
  }
  if (path.starts_with("nodes_per_platform")) {
    return before.is_number() && after.is_number() && after <= before
               ? ""
               : "one machine may be more nodes";
  }
  if (path == "devices") {
    return before.is_number() && after.is_number() && after < before
               ? "fewer GPUs must give evidence"
               : "";
  }
  if (path.starts_with("service_account")) {
    return "what proves on which node a worker runs";
  }
  return path == "principal" ? "another caller may enrol" : path == "node" ? "other names" : "";
}

}  // namespace assay::cli
