// SPDX-License-Identifier: Apache-2.0
// A certificate for a first start: clients pin it, or name it as their CA file.
#pragma once

#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::server {

struct SelfSignedOptions {
  std::string certificate_file;  // new file, PEM
  std::string private_key_file;  // new file, PKCS#8 PEM, mode 0600
  std::string address;           // an IP address the service listens on
  Timestamp now;
};

// Makes an ECDSA P-256 key and a certificate for localhost, the loopback addresses, this host's
// name and `address`, valid for a year. Never overwrites a file. internal when OpenSSL fails,
// file-unreadable when a file cannot be made.
[[nodiscard]] Status make_self_signed(const SelfSignedOptions& options);

}  // namespace assay::server
