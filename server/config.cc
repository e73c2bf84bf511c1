// SPDX-License-Identifier: Apache-2.0
#include "server/config.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <thread>
#include <unistd.h>

#include "attestation/pkcs11/uri.h"
#include "schemas/core/json_advice.h"
#include "schemas/posix/descriptor.h"
#include "schemas/posix/secret_file.h"
#include "schemas/validate.h"
#include "server/thread_shares.h"

namespace assay::server {
namespace {

constexpr std::size_t kMaxConfigBytes = 1U << 20;
constexpr std::size_t kMaxSecretFileBytes = 4096;
constexpr std::array kLevels = {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn,
                                LogLevel::kError};

// Members may be absent: the schema has checked those that may not, and every type.
class Reader {
 public:
  Reader(const Json& json, const std::filesystem::path& folder) : json_(json), folder_(folder) {}

  [[nodiscard]] Reader in(const char* member) const {
    static const Json empty = Json::object();
    return {json_.contains(member) ? json_.at(member) : empty, folder_};
  }
  void text(const char* member, std::string& out) const {
    if (json_.contains(member)) {
      out = json_.at(member).get<std::string>();
    }
  }
  void path(const char* member, std::string& out) const {
    if (json_.contains(member)) {
      out = (folder_ / json_.at(member).get<std::string>()).lexically_normal().string();
    }
  }
  // A file, or the URI of a key in a token, which stays as it is.
  void key(const char* member, std::string& out) const {
    if (json_.contains(member) &&
        attestation::pkcs11::is_uri(json_.at(member).get_ref<const std::string&>())) {
      text(member, out);
    } else {
      path(member, out);
    }
  }
  void paths(const char* member, std::vector<std::string>& out) const {
    if (json_.contains(member)) {
      for (const Json& item : json_.at(member)) {
        const auto text = item.get<std::string>();
        const bool uri = attestation::pkcs11::is_uri(text);
        out.push_back(uri ? text : (folder_ / text).lexically_normal().string());
      }
    }
  }
  template <typename T>
  void number(const char* member, T& out) const {
    if (json_.contains(member)) {
      out = json_.at(member).get<T>();
    }
  }
  // The number counts units of `Duration`.
  template <typename Duration>
  void time(const char* member, Duration& out) const {
    if (json_.contains(member)) {
      out = Duration(json_.at(member).get<std::int64_t>());
    }
  }
  // Calls `read` with a reader for each object of the array.
  template <typename Read>
  void each(const char* member, const Read& read) const {
    if (json_.contains(member)) {
      for (const Json& item : json_.at(member)) {
        read(Reader{item, folder_});
      }
    }
  }
  [[nodiscard]] bool has(const char* member) const { return json_.contains(member); }

 private:
  const Json& json_;
  const std::filesystem::path& folder_;
};

EndpointConfig read_endpoint(const Reader& reader) {
  EndpointConfig endpoint;
  reader.text("address", endpoint.address);
  reader.number("port", endpoint.port);
  return endpoint;
}

AdmissionConfig read_admission(const Reader& reader) {
  AdmissionConfig admission;
  admission.endpoint = read_endpoint(reader);
  std::string mode;
  reader.text("client_auth", mode);
  admission.secret_path = mode == "path";
  reader.path("path_secret_file", admission.path_secret_file);
  return admission;
}

void read_limits(const Reader& reader, Config& config) {
  reader.number("max_connections", config.limits.max_connections);
  reader.number("max_connections_per_address", config.limits.max_connections_per_address);
  reader.number("max_queued_requests", config.limits.max_queued_requests);
  reader.number("max_bytes_in_flight", config.limits.max_bytes_in_flight);
  reader.number("admission_threads", config.limits.admission_threads);
  config.limits.worker_threads = 0;
  reader.number("worker_threads", config.limits.worker_threads);
  if (config.limits.worker_threads == 0) {
    config.limits.worker_threads = std::max(1U, std::thread::hardware_concurrency());
  }
  reader.time("handshake_timeout_ms", config.limits.handshake_timeout);
  reader.time("header_timeout_ms", config.limits.header_timeout);
  reader.time("body_timeout_ms", config.limits.body_timeout);
  reader.time("idle_timeout_ms", config.limits.idle_timeout);
  reader.time("shutdown_timeout_ms", config.limits.shutdown_timeout);
  reader.time("request_timeout_ms", config.request_timeout);
}

void read_plugins(const Reader& attestation, Config& config) {
  attestation.path("plugin_host", config.plugin_host);
  attestation.each("plugins", [&config](const Reader& reader) {
    PluginConfig& plugin = config.plugins.emplace_back();
    reader.text("type", plugin.type);
    reader.text("media_type", plugin.media_type);
    reader.path("path", plugin.path);
    reader.text("sha256", plugin.sha256);
    reader.time("deadline_ms", plugin.deadline);
  });
}

void read_nodes(const Reader& attestation, const Reader& nodes, Config& config) {
  attestation.text("audience", config.nodes.audience);
  attestation.paths("ear_key_files", config.ear_key_files);
  attestation.time("challenge_seconds", config.nodes.challenge_life);
  attestation.time("enrolment_seconds", config.nodes.enrolment_life);
  nodes.number("dangerous_allow_unmeasured", config.nodes.dangerous_allow_unmeasured);
  nodes.number("dangerous_allow_unregistered", config.nodes.dangerous_allow_unregistered);
  nodes.time("lease_seconds", config.nodes.lease_life);
  nodes.path("mirror", config.nodes.mirror);
  nodes.number("spot_checks", config.nodes.spot_checks);
}

Config read_config(const Reader& reader) {
  Config config;
  config.api = read_endpoint(reader.in("api"));
  reader.in("api").number("console", config.console);
  if (reader.has("admission")) {
    config.admission = read_admission(reader.in("admission"));
  }
  reader.in("tls").path("certificate_file", config.certificate_file);
  reader.in("tls").path("private_key_file", config.private_key_file);
  reader.in("store").path("path", config.store_path);
  config.store_readers = 0;
  reader.in("store").number("readers", config.store_readers);
  reader.in("store").number("max_group", config.store_max_group);
  reader.path("anchor_file", config.anchor_file);
  reader.in("log").text("origin", config.log_origin);
  reader.in("log").key("key_file", config.log_key_file);
  reader.in("log").number("public_entries", config.log_public_entries);
  reader.key("service_key_file", config.service_key_file);
  read_nodes(reader.in("attestation"), reader.in("nodes"), config);
  read_plugins(reader.in("attestation"), config);
  reader.path("passphrase_file", config.passphrase_file);
  read_limits(reader.in("limits"), config);
  // Those that wait for a job, and one that never waits.
  config.limits.vital_threads =
      thread_shares(config.limits.worker_threads, !config.plugins.empty()).jobs + 1;
  if (config.store_readers == 0) {
    config.store_readers = config.limits.worker_threads + config.limits.admission_threads +
                           config.limits.vital_threads;
  }
  std::string level(name(config.log_level));
  reader.in("logging").text("level", level);
  config.log_level = *std::ranges::find(kLevels, level, [](LogLevel own) { return name(own); });
  reader.in("logging").path("file", config.log_file);
  reader.path("ready_file", config.ready_file);
  return config;
}

Status check_ear_keys(const Config& config) {
  std::set<std::string> seen = {config.log_key_file, config.service_key_file};
  for (const std::string& file : config.ear_key_files) {
    if (attestation::pkcs11::is_uri(file)) {
      return fail(ErrorCode::kInvalidConfig, "keys of attestation results are files",
                  "/attestation/ear_key_files");
    }
    if (!seen.insert(file).second) {
      return fail(ErrorCode::kInvalidConfig,
                  "each key of attestation results has a file of its own; a key has one purpose",
                  "/attestation/ear_key_files");
    }
  }
  return {};
}

Status check(const Config& config) {
  if (config.admission && config.admission->secret_path &&
      config.admission->path_secret_file.empty()) {
    return fail(ErrorCode::kInvalidConfig, "client_auth \"path\" needs path_secret_file",
                "/admission");
  }
  if (config.admission && !config.admission->secret_path &&
      !config.admission->path_secret_file.empty()) {
    return fail(ErrorCode::kInvalidConfig, "path_secret_file goes with client_auth \"path\"",
                "/admission/path_secret_file");
  }
  if (attestation::pkcs11::is_uri(config.log_key_file)) {
    return fail(
        ErrorCode::kInvalidConfig,
        "the key of the log is a file: checkpoints are signed with Ed25519, and keys of tokens "
        "are ECDSA or RSA",
        "/log/key_file");
  }
  if (attestation::pkcs11::is_uri(config.service_key_file)) {
    if (const auto uri = attestation::pkcs11::parse_uri(config.service_key_file); !uri) {
      return fail(ErrorCode::kInvalidConfig, uri.error().detail, "/service_key_file");
    }
  }
  if (config.log_key_file == config.service_key_file) {
    return fail(ErrorCode::kInvalidConfig, "log and service need a key each; a key has one purpose",
                "/service_key_file");
  }
  return check_ear_keys(config);
}

// `code` says what is wrong with the configuration when others may read the file.
Result<SecretBytes> read_secret_file(const std::string& path, ErrorCode code) {
  Result<SecretBytes> content = read_guarded(path, kMaxSecretFileBytes);
  if (!content && content.error().code == ErrorCode::kKeyUnusable) {
    return fail(code, content.error().detail, path);
  }
  return content;
}

std::string_view first_line(ByteView bytes) {
  const std::string_view text = as_text(bytes);
  return text.substr(0, text.find_first_of("\r\n"));
}

}  // namespace

std::string_view name(LogLevel level) {
  static constexpr std::array kNames = {std::string_view("debug"), std::string_view("info"),
                                        std::string_view("warn"), std::string_view("error")};
  return kNames.at(static_cast<std::size_t>(level));
}

Result<Bytes> read_file(const std::string& path, std::size_t max_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    return fail(ErrorCode::kFileUnreadable, "the file cannot be opened", path);
  }
  Bytes bytes;
  std::array<std::uint8_t, 65536> block;
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0) {
      return fail(ErrorCode::kFileUnreadable, "the file cannot be read", path);
    }
    if (got == 0) {
      return bytes;
    }
    bytes.insert(bytes.end(), block.begin(), block.begin() + got);
    if (bytes.size() > max_bytes) {
      return fail(ErrorCode::kLimitExceeded,
                  "the file may have " + std::to_string(max_bytes) + " bytes", path);
    }
  }
}

Result<Config> parse_config(std::string_view text, const std::string& folder) {
  ASSAY_ASSIGN(const Json json, parse_json(text));
  ASSAY_TRY(validate("config", json));
  const std::filesystem::path base(folder);
  Config config = read_config(Reader(json, base));
  ASSAY_TRY(check(config));
  return config;
}

Result<Config> load_config(const std::string& path) {
  ASSAY_ASSIGN(const Bytes bytes, read_file(path, kMaxConfigBytes));
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) {
    return fail(ErrorCode::kFileUnreadable, "the working folder cannot be read", path);
  }
  Result<Config> config = parse_config(as_text(bytes), absolute.parent_path().string());
  if (!config) {
    return std::unexpected(with_json_advice(config.error(), as_text(bytes), path));
  }
  return config;
}

namespace {

Json attestation_json(const Config& config) {
  const NodeSettings& nodes = config.nodes;
  Json json = {{"audience", nodes.audience.empty() ? config.log_origin : nodes.audience},
               {"ear_key_files", config.ear_key_files},
               {"challenge_seconds", nodes.challenge_life.count()},
               {"enrolment_seconds", nodes.enrolment_life.count()}};
  for (const PluginConfig& plugin : config.plugins) {
    json["plugins"].push_back({{"type", plugin.type},
                               {"media_type", plugin.media_type},
                               {"path", plugin.path},
                               {"sha256", plugin.sha256},
                               {"deadline_ms", plugin.deadline.count()}});
  }
  if (!config.plugin_host.empty()) {
    json["plugin_host"] = config.plugin_host;
  }
  return json;
}

Json nodes_json(const NodeSettings& nodes) {
  Json json = {{"dangerous_allow_unmeasured", nodes.dangerous_allow_unmeasured},
               {"dangerous_allow_unregistered", nodes.dangerous_allow_unregistered},
               {"lease_seconds", nodes.lease_life.count()},
               {"spot_checks", nodes.spot_checks}};
  if (!nodes.mirror.empty()) {
    json["mirror"] = nodes.mirror;
  }
  return json;
}

}  // namespace

Json to_json(const Config& config) {
  const ServerLimits& limits = config.limits;
  Json json = {
      {"api",
       {{"address", config.api.address}, {"port", config.api.port}, {"console", config.console}}},
      {"tls",
       {{"certificate_file", config.certificate_file},
        {"private_key_file", config.private_key_file}}},
      {"store",
       {{"kind", "sqlite"},
        {"path", config.store_path},
        {"readers", config.store_readers},
        {"max_group", config.store_max_group}}},
      {"anchor_file", config.anchor_file},
      {"log",
       {{"origin", config.log_origin},
        {"key_file", config.log_key_file},
        {"public_entries", config.log_public_entries}}},
      {"service_key_file", config.service_key_file},
      {"attestation", attestation_json(config)},
      {"nodes", nodes_json(config.nodes)},
      {"limits",
       {{"max_connections", limits.max_connections},
        {"max_connections_per_address", limits.max_connections_per_address},
        {"max_queued_requests", limits.max_queued_requests},
        {"max_bytes_in_flight", limits.max_bytes_in_flight},
        {"admission_threads", limits.admission_threads},
        {"worker_threads", limits.worker_threads},
        {"handshake_timeout_ms", limits.handshake_timeout.count()},
        {"header_timeout_ms", limits.header_timeout.count()},
        {"body_timeout_ms", limits.body_timeout.count()},
        {"idle_timeout_ms", limits.idle_timeout.count()},
        {"request_timeout_ms", config.request_timeout.count()},
        {"shutdown_timeout_ms", limits.shutdown_timeout.count()}}},
      {"logging", {{"level", name(config.log_level)}}},
  };
  if (config.admission) {
    json["admission"] = {{"address", config.admission->endpoint.address},
                         {"port", config.admission->endpoint.port},
                         {"client_auth", config.admission->secret_path ? "path" : "required"}};
    if (config.admission->secret_path) {
      json["admission"]["path_secret_file"] = config.admission->path_secret_file;
    }
  }
  if (!config.passphrase_file.empty()) {
    json["passphrase_file"] = config.passphrase_file;
  }
  if (!config.log_file.empty()) {
    json["logging"]["file"] = config.log_file;
  }
  if (!config.ready_file.empty()) {
    json["ready_file"] = config.ready_file;
  }
  return json;
}

Result<SecretBytes> read_passphrase(const Config& config) {
  if (config.passphrase_file.empty()) {
    return SecretBytes();
  }
  ASSAY_ASSIGN(const SecretBytes whole,
               read_secret_file(config.passphrase_file, ErrorCode::kKeyUnusable));
  const std::string_view line = first_line(whole.view());
  if (line.empty()) {
    return fail(ErrorCode::kKeyUnusable, "the passphrase file is empty", config.passphrase_file);
  }
  return SecretBytes(to_bytes(line));
}

Result<std::string> read_path_secret(const Config& config) {
  if (!config.admission || !config.admission->secret_path) {
    return std::string();
  }
  const std::string& path = config.admission->path_secret_file;
  ASSAY_ASSIGN(const SecretBytes bytes, read_secret_file(path, ErrorCode::kInvalidConfig));
  std::string secret(first_line(bytes.view()));
  const bool unreserved =
      secret.find_first_not_of(
          "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
  if (secret.size() < 32 || secret.size() > 128 || !unreserved) {
    return fail(ErrorCode::kInvalidConfig,
                "the secret must have 32 to 128 letters, digits, '-' and '_'", path);
  }
  return secret;
}

}  // namespace assay::server
