// SPDX-License-Identifier: Apache-2.0
// The configuration: one JSON file (schemas/json/config.schema.json), read once, immutable.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"
#include "server/http/listener.h"

namespace assay::server {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };
[[nodiscard]] std::string_view name(LogLevel level);

struct EndpointConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
};

struct AdmissionConfig {
  EndpointConfig endpoint;
  bool secret_path = false;      // client_auth "path"; else a client certificate is required
  std::string path_secret_file;  // set with secret_path
};

// Evidence: how long challenges and enrolments are good, and who says so.
struct AttestationConfig {
  std::string audience;                    // empty: the log's origin
  std::vector<std::string> ear_key_files;  // the first signs; all are published
  std::uint64_t challenge_seconds = 120;
  std::uint64_t enrolment_seconds = 86'400;
};

struct NodesConfig {
  bool dangerous_allow_unmeasured = false;
  bool dangerous_allow_unregistered = false;
  std::uint64_t lease_seconds = 60;
  std::string mirror;  // directory; empty: no spot checks
  std::size_t spot_checks = 16;
};

// Paths are absolute, or as given when the file was named without a folder.
struct Config {
  EndpointConfig api;
  std::optional<AdmissionConfig> admission;
  std::string certificate_file;
  std::string private_key_file;
  std::string store_path;
  std::size_t store_readers = 4;
  std::size_t store_max_group = 256;
  std::string anchor_file;
  std::string log_origin;
  std::string log_key_file;
  bool log_public_entries = false;  // else entry bundles need the role auditor
  std::string service_key_file;
  AttestationConfig attestation;
  NodesConfig nodes;
  std::string passphrase_file;  // empty: key files are not encrypted
  ServerLimits limits;
  std::chrono::milliseconds request_timeout{30'000};
  LogLevel log_level = LogLevel::kInfo;
  std::string log_file;  // empty: standard error
  std::string ready_file;
};

// Reads and checks a file. file-unreadable, the JSON errors, unknown-member, schema-violation, and
// invalid-config for what the schema cannot say.
[[nodiscard]] Result<Config> load_config(const std::string& path);
// The same for text; relative paths start from `folder`.
[[nodiscard]] Result<Config> parse_config(std::string_view text, const std::string& folder);
// The configuration in force, defaults filled in. It names secret files and holds no secret.
[[nodiscard]] Json to_json(const Config& config);

// First line of the passphrase file; empty when none is configured. key-unusable when the file is
// not this user's alone.
[[nodiscard]] Result<SecretBytes> read_passphrase(const Config& config);
// The secret of admission paths; empty unless client_auth is "path". invalid-config when it is not
// 32 to 128 unreserved characters in a file of this user alone.
[[nodiscard]] Result<std::string> read_path_secret(const Config& config);

// The whole file. file-unreadable, limit-exceeded.
[[nodiscard]] Result<Bytes> read_file(const std::string& path, std::size_t max_bytes);

}  // namespace assay::server
