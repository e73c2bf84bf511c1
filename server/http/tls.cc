// SPDX-License-Identifier: Apache-2.0
#include "server/http/tls.h"

#include <ctime>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "schemas/core/handle.h"
#include "schemas/core/sha.h"
#include "schemas/tls/credentials.h"

namespace assay::server {
namespace {

constexpr long kMaxClientChainBytes = 16384;

using Certificate = Handle<X509, X509_free>;

// Any certificate passes: see the header. Only the proof of possession in the handshake counts.
int accept_certificate(X509_STORE_CTX* /*context*/, void* /*unused*/) { return 1; }

// ALPN (RFC 7301): http/1.1, or a clear refusal to a client that speaks something else only.
int select_protocol(SSL* /*connection*/, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void* /*unused*/) {
  static constexpr unsigned char kHttp11[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  unsigned char* result = nullptr;
  if (SSL_select_next_proto(&result, size, kHttp11, sizeof(kHttp11), offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = result;
  return SSL_TLSEXT_ERR_OK;
}

// A key file that needs a passphrase is refused; OpenSSL would ask the terminal for it.
int no_passphrase(char* /*out*/, int /*size*/, int /*writing*/, void* /*unused*/) { return -1; }

bool set_protocol(SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_cert_list(context, kMaxClientChainBytes);
  SSL_CTX_set_alpn_select_cb(context, select_protocol, nullptr);
  return SSL_CTX_set_num_tickets(context, 0) == 1 && set_tls_terms(context);
}

Digest pin_of(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  const Digest digest = sha256({der, static_cast<std::size_t>(size > 0 ? size : 0)});
  OPENSSL_free(der);
  return digest;
}

Result<Certificate> read_certificate(const std::string& path) {
  const Handle<std::FILE, std::fclose> file(std::fopen(path.c_str(), "re"));
  Certificate certificate(
      file == nullptr ? nullptr : PEM_read_X509(file.get(), nullptr, no_passphrase, nullptr));
  if (certificate == nullptr) {
    ERR_clear_error();
    return fail(ErrorCode::kFileUnreadable, "the file holds no PEM certificate", path);
  }
  return certificate;
}

Result<Timestamp> end_of(const X509* certificate, const std::string& path) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::kFileUnreadable, "the certificate has no readable end", path);
  }
  return Timestamp(std::chrono::seconds(::timegm(&parts)));
}

bool has_issued(X509* issuer, X509* certificate) {
  return X509_check_issued(issuer, certificate) == X509_V_OK &&
         X509_verify(certificate, X509_get0_pubkey(issuer)) == 1;
}

// What clients refuse for certain. A certificate that is not valid yet is none of that: it serves
// in a moment, when the clock of its issuer is ahead.
Status check_certificate(SSL_CTX* context, const std::string& path, Timestamp now) {
  X509* const leaf = SSL_CTX_get0_certificate(context);
  ASSAY_ASSIGN(const Timestamp end, end_of(leaf, path));
  if (end <= now) {
    return fail(ErrorCode::kInvalidConfig,
                "the certificate ended at " + to_rfc3339(end) + "; clients refuse it", path);
  }
  STACK_OF(X509)* others = nullptr;
  SSL_CTX_get0_chain_certs(context, &others);
  bool fits = sk_X509_num(others) <= 0 || has_issued(leaf, leaf);
  for (int i = 0; i < sk_X509_num(others) && !fits; ++i) {
    fits = has_issued(sk_X509_value(others, i), leaf);
  }
  ERR_clear_error();
  return fits ? Status()
              : fail(ErrorCode::kInvalidConfig,
                     "no certificate of the file has issued the first one; put the service's "
                     "certificate first and its issuer's behind it, without others",
                     path);
}

}  // namespace

void FreeTlsContext::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<TlsContext> make_tls_context(const TlsOptions& options, Timestamp now) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr || !set_protocol(context.get())) {
    ERR_clear_error();
    return fail(ErrorCode::kInternal, "OpenSSL refuses the TLS settings");
  }
  const int mode = options.client_certificate == ClientCertificate::kRequired
                       ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                       : SSL_VERIFY_PEER;
  SSL_CTX_set_verify(context.get(), mode, nullptr);
  SSL_CTX_set_cert_verify_callback(context.get(), accept_certificate, nullptr);
  Status usable =
      use_credentials(context.get(), {options.certificate_file, options.private_key_file});
  if (usable) {
    usable = check_certificate(context.get(), options.certificate_file, now);
  }
  if (!usable) {
    return fail(ErrorCode::kInvalidConfig, usable.error().detail, usable.error().where);
  }
  return context;
}

std::optional<Digest> client_key(const ssl_st* connection) {
  // Borrowed: the connection keeps its certificate.
  X509* const certificate = SSL_get0_peer_certificate(connection);
  if (certificate == nullptr) {
    return std::nullopt;
  }
  return pin_of(certificate);
}

Result<Timestamp> certificate_end(const std::string& certificate_file) {
  ASSAY_ASSIGN(const Certificate certificate, read_certificate(certificate_file));
  return end_of(certificate.get(), certificate_file);
}

Result<Digest> certificate_pin(const std::string& certificate_file) {
  ASSAY_ASSIGN(const Certificate certificate, read_certificate(certificate_file));
  return pin_of(certificate.get());
}

}  // namespace assay::server
