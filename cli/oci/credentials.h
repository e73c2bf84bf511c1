// SPDX-License-Identifier: Apache-2.0
// Credentials of registries as Docker keeps them, and the challenges that registries answer with.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::oci {

// Returns the base64 of "user:password" for a host, from a config.json of Docker ("auths"). Empty
// when the file has none for the host. Errors: schema-violation for another form, and for a host
// whose credential another program keeps (credHelpers, credsStore): none is run.
[[nodiscard]] Result<SecretBytes> docker_credential(ByteView config, const std::string& host);

// A challenge of WWW-Authenticate (RFC 9110 section 11.6.1).
struct Challenge {
  std::string scheme;                         // in lowercase
  std::map<std::string, std::string> values;  // names in lowercase
};
// Parses one challenge. Errors: schema-violation.
[[nodiscard]] Result<Challenge> parse_challenge(std::string_view header);

// Returns host[:port] in lowercase of an https or http URL; empty for any other text, and for one
// with a user name.
[[nodiscard]] std::string host_of(std::string_view url);

}  // namespace assay::oci
