// SPDX-License-Identifier: Apache-2.0
#include "server/http/tls.h"

#include <ctime>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "schemas/core/owner.h"
#include "schemas/core/sha.h"

namespace assay::server {
namespace {

constexpr const char* kCiphers =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256:P-384";
constexpr const char* kSignatures =
    "ed25519:ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:"
    "rsa_pss_rsae_sha512";
constexpr long kMaxClientChainBytes = 16384;

using Certificate = Owner<X509, X509_free>;

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
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_cert_list(context, kMaxClientChainBytes);
  SSL_CTX_set_alpn_select_cb(context, select_protocol, nullptr);
  return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_num_tickets(context, 0) == 1 &&
         SSL_CTX_set_ciphersuites(context, kCiphers) == 1 &&
         SSL_CTX_set1_groups_list(context, kGroups) == 1 &&
         SSL_CTX_set1_sigalgs_list(context, kSignatures) == 1 &&
         SSL_CTX_set1_client_sigalgs_list(context, kSignatures) == 1;
}

Digest pin_of(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  const Digest digest = sha256({der, static_cast<std::size_t>(size > 0 ? size : 0)});
  OPENSSL_free(der);
  return digest;
}

Result<Certificate> read_certificate(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
  Certificate certificate(
      file == nullptr ? nullptr : PEM_read_X509(file.get(), nullptr, no_passphrase, nullptr));
  if (certificate == nullptr) {
    ERR_clear_error();
    return fail(ErrorCode::kFileUnreadable, "the file holds no PEM certificate", path);
  }
  return certificate;
}

}  // namespace

void FreeTlsContext::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<TlsContext> make_tls_context(const TlsOptions& options) {
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
  if (SSL_CTX_use_certificate_chain_file(context.get(), options.certificate_file.c_str()) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::kInvalidConfig, "tls.certificate_file holds no readable PEM certificate",
                options.certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), options.private_key_file.c_str(),
                                  SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::kInvalidConfig,
                "tls.private_key_file holds no readable PEM key of the certificate",
                options.private_key_file);
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
  std::tm parts{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &parts) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::kFileUnreadable, "the certificate has no readable end",
                certificate_file);
  }
  return Timestamp(std::chrono::seconds(::timegm(&parts)));
}

Result<Digest> certificate_pin(const std::string& certificate_file) {
  ASSAY_ASSIGN(const Certificate certificate, read_certificate(certificate_file));
  return pin_of(certificate.get());
}

}  // namespace assay::server
