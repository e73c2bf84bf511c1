// SPDX-License-Identifier: Apache-2.0
#include "server/listeners.h"

#include <filesystem>

namespace assay::server {

std::vector<ListenerOptions> listeners(const Config& config) {
  const TlsOptions tls{config.certificate_file, config.private_key_file,
                       ClientCertificate::kOptional};
  std::vector<ListenerOptions> result = {
      {Listener::kApi, config.api.address, config.api.port, tls}};
  if (config.admission) {
    result.push_back({Listener::kAdmission, config.admission->endpoint.address,
                      config.admission->endpoint.port, tls});
    if (!config.admission->secret_path) {
      result.back().tls.client_certificate = ClientCertificate::kRequired;
    }
  }
  return result;
}

Status check_tls_files(const Config& config, Timestamp now) {
  std::error_code ignored;
  if (!std::filesystem::exists(config.certificate_file, ignored) &&
      !std::filesystem::exists(config.private_key_file, ignored)) {
    return {};
  }
  for (const ListenerOptions& listener : listeners(config)) {
    ASSAY_TRY(make_tls_context(listener.tls, now));
  }
  return {};
}

}  // namespace assay::server
