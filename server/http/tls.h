// SPDX-License-Identifier: Apache-2.0
// TLS settings of the listeners: the terms of schemas/tls/credentials.h, no session resumption.
//
// Client certificates: a principal (a caller in the trust store) is recognised by the SHA-256 of
// its certificate's public key (SubjectPublicKeyInfo). Chains, names and dates of client
// certificates are therefore not checked. The handshake proves that the client holds the private
// key. The application decides whether the key belongs to a principal; the principal's `not_after`
// limits how long the key is accepted.
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

// Loads the certificate and the key. Errors: invalid-config when a file cannot be read, others may
// read the key, or no client could use them: see use_credentials() in schemas/tls/credentials.h;
// also for a certificate that has ended at `now`, or that no other one in its file has issued.
[[nodiscard]] Result<TlsContext> make_tls_context(const TlsOptions& options, Timestamp now);

// Returns the SHA-256 of the client certificate's SubjectPublicKeyInfo (DER). Returns nullopt when
// the client sent no certificate.
[[nodiscard]] std::optional<Digest> client_key(const ssl_st* connection);

// Returns when the leaf certificate in a PEM file ends. Errors: file-unreadable.
[[nodiscard]] Result<Timestamp> certificate_end(const std::string& certificate_file);

// Returns the SHA-256 of the public key in a PEM certificate file, for pinning.
[[nodiscard]] Result<Digest> certificate_pin(const std::string& certificate_file);

}  // namespace assay::server
