// SPDX-License-Identifier: Apache-2.0
// A self-signed certificate for a first start. Clients pin it, or use it as their CA file.
#pragma once

#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::server {

struct SelfSignedOptions {
  std::string certificate_file;  // PEM; must not exist yet
  std::string private_key_file;  // PKCS#8 PEM, written with mode 0600; must not exist yet
  std::string address;           // IP address that the service listens on
  Timestamp now;
};

// Makes an ECDSA P-256 key and a certificate, valid for a year. The certificate names localhost,
// the loopback addresses, this host's name and `address`. Never overwrites a file. Errors: internal
// when OpenSSL fails; file-unreadable when a file cannot be made.
[[nodiscard]] Status make_self_signed(const SelfSignedOptions& options);

}  // namespace assay::server
