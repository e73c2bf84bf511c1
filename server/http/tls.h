// SPDX-License-Identifier: Apache-2.0
// The TLS edge: TLS 1.3 only, with the groups and ciphers named here, no session resumption.
//
// Client certificates: a principal is pinned by the SHA-256 of its certificate's public key
// (SubjectPublicKeyInfo), so chains, names and dates of client certificates say nothing here and
// are not looked at; the handshake proves that the client holds the private key. Whether the key is
// anybody's is the application's business, and ends with the principal's `not_after`.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

struct ssl_ctx_st;
struct ssl_st;

namespace assay::server {

enum class ClientCertificate { kOptional, kRequired };

struct TlsOptions {
  std::string certificate_file;  // PEM, leaf first
  std::string private_key_file;  // PEM
  ClientCertificate client_certificate = ClientCertificate::kOptional;
};

struct FreeTlsContext {
  void operator()(ssl_ctx_st* context) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, FreeTlsContext>;

// invalid-config when a file cannot be read or the key does not belong to the certificate.
[[nodiscard]] Result<TlsContext> make_tls_context(const TlsOptions& options);

// SHA-256 of the client certificate's SubjectPublicKeyInfo DER; nothing when there is none.
[[nodiscard]] std::optional<Digest> client_key(const ssl_st* connection);

// When the leaf certificate in a PEM file ends. file-unreadable.
[[nodiscard]] Result<Timestamp> certificate_end(const std::string& certificate_file);

// The SHA-256 of the public key in a PEM certificate file, for pinning it.
[[nodiscard]] Result<Digest> certificate_pin(const std::string& certificate_file);

}  // namespace assay::server
