// SPDX-License-Identifier: Apache-2.0
#include "client/connection.h"

#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "client/files.h"
#include "schemas/core/json.h"

namespace assay::client {

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Members of a profile, with their flags, their environment variables and where they go.
struct Setting {
  const char* member;
  const char* variable;
  const char* name;                     // of the flag
  std::string ConnectionFlags::* flag;  // null: there is no flag
  std::string Connection::* target;
  bool is_path;
};

constexpr Setting kSettings[] = {
    {"server", "ASSAY_SERVER", "--server", &ConnectionFlags::server, &Connection::server, false},
    {"admission_server", "ASSAY_ADMISSION_SERVER", "", nullptr, &Connection::admission_server,
     false},
    {"ca", "ASSAY_CA", "--ca", &ConnectionFlags::ca, &Connection::ca, true},
    {"token_file", "ASSAY_TOKEN_FILE", "--token-file", &ConnectionFlags::token_file,
     &Connection::token_file, true},
    {"cert", "ASSAY_CERT", "--cert", &ConnectionFlags::cert, &Connection::cert, true},
    {"key", "ASSAY_CERT_KEY", "--cert-key", &ConnectionFlags::cert_key, &Connection::cert_key,
     true},
};

Result<Json> read_profile(const std::string& path) {
  constexpr std::uint64_t kMaxProfileBytes = 65536;
  ASSAY_ASSIGN(const Bytes bytes, read_file(path, kMaxProfileBytes));
  Result<Json> json = parse_json(as_text(bytes));
  if (!json || !json->is_object()) {
    return fail(ErrorCode::kInvalidConfig, "The profile is not a JSON object", path);
  }
  for (const auto& [name, value] : json->items()) {
    bool known = false;
    for (const Setting& setting : kSettings) {
      known = known || name == setting.member;
    }
    if (!known || !value.is_string()) {
      return fail(ErrorCode::kInvalidConfig,
                  "The profile may hold the strings server, admission_server, ca, token_file, cert "
                  "and key, not '" +
                      name + "'",
                  path);
    }
  }
  return json;
}

// The profile named, or the default one when it exists; an empty object otherwise.
Result<std::pair<Json, std::string>> find_profile(const ConnectionFlags& flags) {
  std::string path = flags.profile.empty() ? environment("ASSAY_PROFILE") : flags.profile;
  if (path.empty()) {
    path = default_profile_path();
    if (path.empty() || !file_exists(path)) {
      return std::pair(Json::object(), std::string());
    }
  }
  ASSAY_ASSIGN(Json json, read_profile(path));
  return std::pair(std::move(json), std::filesystem::path(path).parent_path().string());
}

// "https://host[:port]", with a path only where one is allowed.
Result<std::string> check_address(std::string address, bool path_allowed) {
  constexpr std::string_view kScheme = "https://";
  while (address.ends_with('/')) {
    address.pop_back();
  }
  if (!address.starts_with(kScheme)) {
    return fail(ErrorCode::kUsage, "The server's address must start with https://", address);
  }
  const std::string_view rest = std::string_view(address).substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  if (rest.empty() || slash == 0 || (slash != std::string_view::npos && !path_allowed) ||
      rest.find_first_of("@?# \\") != std::string_view::npos) {
    return fail(ErrorCode::kUsage, "The server's address must be https://host:port", address);
  }
  return address;
}

// The service takes a caller by its token where it shows both a token and a certificate. The token
// comes first among the settings.
void note_credential(const Setting& setting, const std::string& value, const std::string& source,
                     Connection& connection) {
  const bool token = setting.target == &Connection::token_file;
  if (value.empty() || (!token && setting.target != &Connection::cert)) {
    return;
  }
  const std::string what =
      std::string(token ? "the token in " : "the certificate in ") + value + " (" + source + ")";
  if (connection.credential.empty()) {
    connection.credential = what;
  } else {
    connection.overruled = "the service knows you by " + connection.credential + ", not by " +
                           what + "; leave one of them out";
  }
}

Status check(const Connection& connection) {
  if (connection.cert.empty() != connection.cert_key.empty()) {
    return fail(ErrorCode::kUsage,
                "A client certificate needs its key: give both --cert and --cert-key");
  }
  if (connection.timeout_seconds == 0 || connection.timeout_seconds > 3600) {
    return fail(ErrorCode::kUsage, "The time limit must be 1 to 3600 seconds");
  }
  if (connection.retries > 20) {
    return fail(ErrorCode::kUsage, "At most 20 retries");
  }
  return {};
}

}  // namespace

std::string default_profile_path() {
  const std::string config = environment("XDG_CONFIG_HOME");
  if (!config.empty()) {
    return config + "/assay/config.json";
  }
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.config/assay/config.json";
}

Result<Connection> resolve_connection(const ConnectionFlags& flags, Endpoint endpoint) {
  ASSAY_ASSIGN(const auto profile, find_profile(flags));
  Connection connection;
  for (const Setting& setting : kSettings) {
    std::string value = setting.flag == nullptr ? "" : flags.*setting.flag;
    std::string source = setting.name;
    if (value.empty()) {
      value = environment(setting.variable);
      source = setting.variable;
    }
    if (value.empty() && profile.first.contains(setting.member)) {
      value = profile.first.at(setting.member).get<std::string>();
      source = "the profile";
      // Paths in a profile are relative to it, wherever the command runs.
      if (setting.is_path && !value.empty()) {
        value = (std::filesystem::path(profile.second) / value).string();
      }
    }
    note_credential(setting, value, source, connection);
    connection.*setting.target = std::move(value);
  }
  if (endpoint == Endpoint::kAdmission && !flags.server.empty()) {
    connection.admission_server = flags.server;
  }
  const bool admission = endpoint == Endpoint::kAdmission;
  std::string& address = admission ? connection.admission_server : connection.server;
  if (address.empty()) {
    return fail(ErrorCode::kUsage,
                admission ? "The admission listener's address is missing: give --server, set "
                            "ASSAY_ADMISSION_SERVER, or put \"admission_server\" into the profile"
                          : "The service's address is missing: give --server, set ASSAY_SERVER, or "
                            "put \"server\" into the profile");
  }
  ASSAY_ASSIGN(address, check_address(std::move(address), admission));
  if (flags.timeout != 0) {
    connection.timeout_seconds = flags.timeout;
  }
  connection.retries = flags.retries.value_or(connection.retries);
  ASSAY_TRY(check(connection));
  return connection;
}

}  // namespace assay::client
