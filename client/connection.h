// SPDX-License-Identifier: Apache-2.0
// The address of the service and the credential of the caller. Each setting is taken from the first
// of these that has it: the flags, the environment, a profile file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/error.h"

namespace assay::client {

// Values of a verb's flags. Empty or absent: not given.
struct ConnectionFlags {
  std::string server;
  std::string ca;
  std::string token_file;
  std::string cert;
  std::string cert_key;
  std::string profile;
  std::uint64_t timeout = 0;  // seconds; 0: not given
  std::optional<std::uint64_t> retries{};
};

struct Connection {
  std::string server;            // "https://host[:port]", no trailing '/'
  std::string admission_server;  // may be empty
  std::string ca;                // PEM file; empty: the system's certificates
  std::string token_file;        // may be empty
  std::string cert;              // PEM file; may be empty
  std::string cert_key;          // PEM file; set when cert is set
  // The credential by which the service takes the caller, with its source: "the token in ci.token
  // (--token-file)". Empty: no credential.
  std::string credential;
  // Why a credential that is set as well does not count; empty: there is none.
  std::string overruled;
  std::uint64_t timeout_seconds = 60;
  std::uint64_t retries = 4;
};

// The address that a verb talks to.
enum class Endpoint : std::uint8_t { kApi, kAdmission };

// Takes each setting from the flags, the environment or the profile file, in this order. Errors:
// usage when the address of `endpoint` is missing, is not https, or contains more than host and
// port (the admission address may also have a path); invalid-config for a bad profile.
[[nodiscard]] Result<Connection> resolve_connection(const ConnectionFlags& flags,
                                                    Endpoint endpoint = Endpoint::kApi);

// Returns $XDG_CONFIG_HOME/assay/config.json, or else ~/.config/assay/config.json. Empty when
// neither directory is known.
[[nodiscard]] std::string default_profile_path();

}  // namespace assay::client
