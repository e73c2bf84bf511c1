// SPDX-License-Identifier: Apache-2.0
// Certificates and keys of TLS, on both sides of a handshake: the terms that this service and its
// clients agree on, and whether a certificate can be used under them.
#pragma once

#include <string>

#include "schemas/core/error.h"

struct ssl_ctx_st;

namespace assay {

struct TlsFiles {
  std::string certificate;  // PEM, leaf first
  std::string private_key;  // PEM
};

// Sets TLS 1.3 alone, the ciphers, groups and signature schemes named in credentials.cc, and at
// least the security level 2 of OpenSSL (RSA of 2048 bits). Returns false when OpenSSL refuses.
[[nodiscard]] bool set_tls_terms(ssl_ctx_st* context);

// Loads both files into `context`, which has the terms of set_tls_terms(), and then shakes hands in
// memory: a key that can sign under none of the schemes is refused here, and not by each peer. The
// file of the key must be guarded (schemas/posix/secret_file.h). Errors: key-unusable with what the
// file or the key is and which keys can be used; file-unreadable.
[[nodiscard]] Status use_credentials(ssl_ctx_st* context, const TlsFiles& files);

// Checks the files of a client. A key that needs a passphrase is not opened, and passes.
[[nodiscard]] Status check_client_credentials(const TlsFiles& files);

}  // namespace assay
