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
#include "server/service/node_settings.h"

namespace assay::server {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };
[[nodiscard]] std::string_view name(LogLevel level);

struct EndpointConfig {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
};

struct AdmissionConfig {
  EndpointConfig endpoint;
  bool secret_path = false;      // false: callers need a client certificate (client_auth)
  std::string path_secret_file;  // set with secret_path
};

// A verifier plug-in (attestation/plugin/plugin_verifier.h).
struct PluginConfig {
  std::string type;
  std::string media_type;
  std::string path;
  std::string sha256;  // "sha256:<hex>"
  std::chrono::milliseconds deadline{2'000};
};

// The parsed configuration. load_config() turns paths relative to the folder of the configuration
// file into absolute paths.
struct Config {
  EndpointConfig api;
  bool console = false;  // true: the API listener serves the console (api/console.h)
  std::optional<AdmissionConfig> admission;
  std::string certificate_file;
  std::string private_key_file;
  std::string store_path;
  std::size_t store_readers = 4;
  std::size_t store_max_group = 256;
  std::string anchor_file;
  std::string log_origin;
  std::string log_key_file;
  bool log_public_entries = false;  // false: entry bundles need the role auditor
  std::string service_key_file;
  std::vector<std::string> ear_key_files;  // the first key signs; all keys are published
  std::vector<PluginConfig> plugins;
  std::string plugin_host;      // empty: the program beside this one
  NodeSettings nodes;           // members `attestation` and `nodes`
  std::string passphrase_file;  // empty: key files are not encrypted
  ServerLimits limits;
  std::chrono::milliseconds request_timeout{30'000};
  LogLevel log_level = LogLevel::kInfo;
  std::string log_file;  // empty: standard error
  std::string ready_file;
};

// Reads and checks a configuration file. Errors: file-unreadable; the JSON errors; unknown-member;
// schema-violation; invalid-config for rules that the schema cannot express.
[[nodiscard]] Result<Config> load_config(const std::string& path);
// Parses and checks `text` as load_config() does. Relative paths start from `folder`.
[[nodiscard]] Result<Config> parse_config(std::string_view text, const std::string& folder);
// Returns the configuration with defaults filled in. The result names secret files but holds no
// secret.
[[nodiscard]] Json to_json(const Config& config);

// Returns the first line of the passphrase file; empty when none is configured. Errors:
// key-unusable when the line is empty, or when other users can access the file.
[[nodiscard]] Result<SecretBytes> read_passphrase(const Config& config);
// Returns the secret of admission paths; empty unless client_auth is "path". Errors: invalid-config
// when the file's first line is not 32 to 128 letters, digits, '-' and '_', or when other users can
// access the file.
[[nodiscard]] Result<std::string> read_path_secret(const Config& config);

// Returns the whole file. Errors: file-unreadable; limit-exceeded for more than `max_bytes`.
[[nodiscard]] Result<Bytes> read_file(const std::string& path, std::size_t max_bytes);

}  // namespace assay::server
