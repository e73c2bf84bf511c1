// SPDX-License-Identifier: Apache-2.0
// A registry over HTTPS. Spec: opencontainers/distribution-spec v1.1; tokens as Docker's registry
// asks for them.
//
// Credentials go to the registry itself, and to the server that it names for tokens when that is
// the same host or one that the user allows. A redirect is followed for blobs alone, at most five
// times, and no credential goes with it to another host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/oci/source.h"
#include "schemas/core/bytes.h"

namespace assay::oci {

struct RegistryOptions {
  std::string host;  // host[:port]
  std::string path;
  std::string ca{};  // PEM file for this host; empty: the system's
  bool plain_http = false;
  std::string docker_config{};  // file with "auths"
  std::string token_file{};     // file with a bearer token
  std::vector<std::string> auth_hosts{};
  std::string user_agent{};
};

// Reads the credentials; connects to nothing yet. Errors: usage for plain HTTP to another host than
// this one; key-unusable for a credential that others may read; schema-violation for a file of
// credentials that cannot be used.
[[nodiscard]] Result<std::unique_ptr<Source>> open_registry(RegistryOptions options);

}  // namespace assay::oci
