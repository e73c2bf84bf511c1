// SPDX-License-Identifier: Apache-2.0
#include "server/config_paths.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <utility>

#include "attestation/keys.h"
#include "attestation/pkcs11/uri.h"
#include "attestation/plugin/host.h"
#include "attestation/plugin/plugin_file.h"
#include "schemas/core/digest.h"

namespace assay::server {
namespace {

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

class Look {
 public:
  explicit Look(const Config& config) : initialised_(is_there(config.store_path)) {}

  void take(const std::string& member, const Status& status) {
    if (!status) {
      Error error = status.error();
      error.where = error.where.empty() ? member : member + ": " + error.where;
      found_.push_back(std::move(error));
    }
  }

  // `mode` is that of access(2).
  void need(const std::string& member, const std::string& path, int mode) {
    if (::access(path.c_str(), mode) != 0) {
      found_.push_back({ErrorCode::kFileUnreadable, std::strerror(errno), member + ": " + path});
    }
  }

  // The folder in which a file is written.
  void folder(const std::string& member, const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (!path.empty() && !folder.empty() && (initialised_ || is_there(folder))) {
      need(member, folder, W_OK | X_OK);
    }
  }

  void key(const std::string& member, const std::string& path, const SecretBytes& passphrase) {
    if (attestation::pkcs11::is_uri(path) || (!initialised_ && !is_there(path))) {
      return;
    }
    const auto signer = attestation::load_private_key(path, passphrase);
    take(member, signer ? Status() : std::unexpected(signer.error()));
  }

  [[nodiscard]] bool initialised() const { return initialised_; }
  [[nodiscard]] std::vector<Error> found() && { return std::move(found_); }

 private:
  bool initialised_;
  std::vector<Error> found_;
};

Status check_plugin(const PluginConfig& plugin) {
  ASSAY_ASSIGN(const Digest pin, Digest::parse(plugin.sha256));
  ASSAY_TRY(attestation::plugin::read_pinned_plugin(plugin.path, pin));
  return {};
}

void look_at_keys(const Config& config, Look& look) {
  const auto passphrase = read_passphrase(config);
  if (!passphrase) {
    look.take("/passphrase_file", std::unexpected(passphrase.error()));
    return;  // no key would open
  }
  look.key("/log/key_file", config.log_key_file, *passphrase);
  look.key("/service_key_file", config.service_key_file, *passphrase);
  for (const std::string& file : config.ear_key_files) {
    look.key("/attestation/ear_key_files", file, *passphrase);
  }
}

}  // namespace

std::vector<Error> check_paths(const Config& config) {
  Look look(config);
  look_at_keys(config, look);
  const auto secret = read_path_secret(config);
  look.take("/admission/path_secret_file", secret ? Status() : std::unexpected(secret.error()));
  look.folder("/store/path", config.store_path);
  look.folder("/anchor_file", config.anchor_file);
  look.folder("/logging/file", config.log_file);
  look.folder("/ready_file", config.ready_file);
  if (look.initialised()) {
    look.need("/store/path", config.store_path, R_OK | W_OK);
    look.need("/anchor_file", config.anchor_file, R_OK | W_OK);
    look.need("/tls/certificate_file", config.certificate_file, R_OK);
    look.need("/tls/private_key_file", config.private_key_file, R_OK);
  }
  for (const PluginConfig& plugin : config.plugins) {
    look.take("/attestation/plugins", check_plugin(plugin));
  }
  if (!config.plugins.empty()) {
    look.need("/attestation/plugin_host",
              config.plugin_host.empty() ? attestation::plugin::default_host_program()
                                         : config.plugin_host,
              X_OK);
  }
  return std::move(look).found();
}

}  // namespace assay::server
