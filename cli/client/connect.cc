// SPDX-License-Identifier: Apache-2.0
#include "cli/client/connect.h"

#include <utility>

#include "cli/output.h"

namespace assay::cli {

void add_connection_options(const Command& verb, ConnectionFlags& flags) {
  verb.option("--server", flags.server, "URL", "address of the service (env ASSAY_SERVER)");
  verb.option("--ca", flags.ca, "FILE",
              "PEM certificate that the service's must chain to; nothing else is trusted then "
              "(env ASSAY_CA)");
  verb.option("--token-file", flags.token_file, "FILE",
              "file of mode 0600 with the access token (env ASSAY_TOKEN_FILE)");
  verb.option("--cert", flags.cert, "FILE", "client certificate, PEM (env ASSAY_CERT)");
  verb.option("--cert-key", flags.cert_key, "FILE",
              "its private key, PEM, of mode 0600 unless encrypted (env ASSAY_CERT_KEY)");
  verb.option("--profile", flags.profile, "FILE",
              "settings to start from (env ASSAY_PROFILE; default ~/.config/assay/config.json)");
  verb.option("--timeout", flags.timeout, "SECONDS", "time limit of one request (default 60)");
  verb.option("--retries", flags.retries, "N", "tries after a failure that may pass (default 4)");
}

client::Caller caller_of(const Context& context) {
  return {.random = context.random,
          .version = context.version,
          .tell = [&context](const auto& line) { message(context, line); }};
}

Result<Api> open_api(const Context& context, const ConnectionFlags& flags,
                     client::Endpoint endpoint) {
  ASSAY_ASSIGN(const client::Connection connection, client::resolve_connection(flags, endpoint));
  if (!connection.overruled.empty()) {
    message(context, connection.overruled);
  }
  ASSAY_ASSIGN(client::HttpClient http,
               client::HttpClient::open(caller_of(context), connection, endpoint));
  return Api(std::move(http));
}

}  // namespace assay::cli
