// SPDX-License-Identifier: Apache-2.0
// Where the service is and who the caller is to it: flags first, then the environment, then a
// profile file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/error.h"

namespace assay::client {

// What the flags of a verb say; empty or absent is "not given".
struct ConnectionFlags {
  std::string server;
  std::string ca;
  std::string token_file;
  std::string cert;
  std::string cert_key;
  std::string profile;
  std::uint64_t timeout = 0;  // seconds
  std::optional<std::uint64_t> retries{};
};

struct Connection {
  std::string server;            // "https://host[:port]", no trailing '/'
  std::string admission_server;  // may be empty
  std::string ca;                // PEM file; empty: the system's
  std::string token_file;        // may be empty
  std::string cert;              // PEM file; may be empty
  std::string cert_key;          // PEM file; set when cert is
  std::uint64_t timeout_seconds = 60;
  std::uint64_t retries = 4;
};

// Which address a verb talks to.
enum class Endpoint : std::uint8_t { kApi, kAdmission };

// Joins the three sources. usage when the address of `endpoint` is missing, is not https, or holds
// more than host and port (admission: a path may follow); invalid-config for a bad profile.
[[nodiscard]] Result<Connection> resolve_connection(const ConnectionFlags& flags,
                                                    Endpoint endpoint = Endpoint::kApi);

// $XDG_CONFIG_HOME/assay/config.json, or the same below ~/.config; empty without either.
[[nodiscard]] std::string default_profile_path();

}  // namespace assay::client
