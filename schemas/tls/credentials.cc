// SPDX-License-Identifier: Apache-2.0
#include "schemas/tls/credentials.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "schemas/core/handle.h"
#include "schemas/core/printable.h"
#include "schemas/key_advice.h"
#include "schemas/posix/secret_file.h"

namespace assay {
namespace {

constexpr const char* kCiphers =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256:P-384";
constexpr const char* kSignatures =
    "ed25519:ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:"
    "rsa_pss_rsae_sha512";
// What can sign under these schemes, for people. The handshake decides.
constexpr const char* kUsableKeys =
    "; usable keys are Ed25519, ECDSA on P-256 or P-384, and RSA of 2048 bits or more (not "
    "RSA-PSS)";
constexpr int kSecurityLevel = 2;
constexpr std::size_t kMaxKeyFile = 65536;
constexpr int kMaxRounds = 64;  // of a handshake; one needs two, and more for a long chain

using Context = Handle<SSL_CTX, SSL_CTX_free>;
using Connection = Handle<SSL, SSL_free>;
using Key = Handle<EVP_PKEY, EVP_PKEY_free>;
using Bio = Handle<BIO, BIO_free>;

// A key file that needs a passphrase is refused; OpenSSL would ask the terminal for it.
int no_passphrase(char* /*out*/, int /*size*/, int /*writing*/, void* /*unused*/) { return -1; }

// What OpenSSL said first; its queue is empty afterwards.
std::string take_reason() {
  const char* const text = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return text == nullptr ? "refused" : text;
}

std::string name_of(EVP_PKEY* key) {
  const char* const type = EVP_PKEY_get0_type_name(key);
  std::string name = type == nullptr ? "of an unknown kind" : type;
  std::array<char, 64> group{};
  if (EVP_PKEY_get_group_name(key, group.data(), group.size(), nullptr) == 1) {
    name += std::string(" on ") + group.data();
  } else if (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA) {
    name += " of " + std::to_string(EVP_PKEY_get_bits(key)) + " bits";
  }
  ERR_clear_error();
  return name;
}

std::unexpected<Error> unusable_key(EVP_PKEY* key, const std::string& reason,
                                    const std::string& path) {
  return fail(ErrorCode::kKeyUnusable,
              "no TLS handshake is possible with the certificate: its key is " + name_of(key) +
                  " (" + reason + ")" + kUsableKeys,
              path);
}

Key public_key_in(const std::string& path) {
  const Bio file(BIO_new_file(path.c_str(), "r"));
  const Handle<X509, X509_free> certificate(
      file == nullptr ? nullptr : PEM_read_bio_X509(file.get(), nullptr, no_passphrase, nullptr));
  return Key(certificate == nullptr ? nullptr : X509_get_pubkey(certificate.get()));
}

Status use_certificate(SSL_CTX* context, const std::string& path) {
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, path.c_str()) == 1) {
    return {};
  }
  const bool of_tls = ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_SSL &&
                      ERR_GET_REASON(ERR_peek_last_error()) != ERR_R_PEM_LIB &&
                      ERR_GET_REASON(ERR_peek_last_error()) != ERR_R_SYS_LIB;
  const std::string reason = take_reason();
  if (const Key key = of_tls ? public_key_in(path) : nullptr) {
    return unusable_key(key.get(), reason, path);
  }
  ERR_clear_error();
  return fail(ErrorCode::kKeyUnusable, "the file holds no readable PEM certificate", path);
}

std::unexpected<Error> no_tls_key(std::string_view content, const std::string& path) {
  ERR_clear_error();
  if (content.find("ENCRYPTED") != std::string_view::npos) {
    const std::string word = shell_word(path);
    return fail(ErrorCode::kKeyUnusable,
                "the TLS key needs a passphrase, and there is nobody to ask; type: openssl pkey "
                "-in " +
                    word + " -out " + shell_word(path + ".plain"),
                path);
  }
  const auto advice = private_key_advice(content, path);
  return fail(ErrorCode::kKeyUnusable, advice ? *advice : "the file holds no readable PEM key",
              path);
}

Status use_key(SSL_CTX* context, std::string_view content, const std::string& path) {
  const Bio text(BIO_new_mem_buf(content.data(), static_cast<int>(content.size())));
  const Key key(text == nullptr
                    ? nullptr
                    : PEM_read_bio_PrivateKey(text.get(), nullptr, no_passphrase, nullptr));
  if (key == nullptr) {
    return no_tls_key(content, path);
  }
  // Borrowed: the context keeps it.
  X509* const certificate = SSL_CTX_get0_certificate(context);
  if (certificate == nullptr || X509_check_private_key(certificate, key.get()) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::kKeyUnusable,
                "the private key does not belong to the first certificate of the certificate file",
                path);
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return unusable_key(key.get(), take_reason(), path);
  }
  return {};
}

// One step of one side. True while the handshake may still succeed.
bool step(SSL* connection, bool& done) {
  const int result = SSL_do_handshake(connection);
  done = result == 1;
  const int error = done ? SSL_ERROR_NONE : SSL_get_error(connection, result);
  return done || error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

// The certificate and key of `context` on the side of the server, and a client that takes any
// certificate. A scheme that fits in this role fits in the other: both sides have the same list.
bool shakes_hands(SSL_CTX* context) {
  const Context peer(SSL_CTX_new(TLS_client_method()));
  if (peer == nullptr || !set_tls_terms(peer.get())) {
    return false;
  }
  SSL_CTX_set_verify(peer.get(), SSL_VERIFY_NONE, nullptr);
  const Connection server(SSL_new(context));
  const Connection client(SSL_new(peer.get()));
  BIO* ends[2] = {nullptr, nullptr};
  if (server == nullptr || client == nullptr || BIO_new_bio_pair(&ends[0], 0, &ends[1], 0) != 1) {
    return false;
  }
  SSL_set_bio(server.get(), ends[0], ends[0]);
  SSL_set_bio(client.get(), ends[1], ends[1]);
  SSL_set_verify(server.get(), SSL_VERIFY_NONE, nullptr);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  bool accepted = false;
  bool connected = false;
  for (int i = 0; i < kMaxRounds && !(accepted && connected); ++i) {
    if (!step(client.get(), connected) || !step(server.get(), accepted)) {
      return false;
    }
  }
  return accepted && connected;
}

Status load(SSL_CTX* context, const TlsFiles& files, const SecretFile& key) {
  ASSAY_TRY(use_certificate(context, files.certificate));
  const std::string_view content = as_text(key.content.view());
  ASSAY_TRY(use_key(context, content, files.private_key));
  ASSAY_TRY(key.guarded);
  ERR_clear_error();
  if (!shakes_hands(context)) {
    return unusable_key(SSL_CTX_get0_privatekey(context), take_reason(), files.certificate);
  }
  ERR_clear_error();
  return {};
}

}  // namespace

bool set_tls_terms(SSL_CTX* context) {
  SSL_CTX_set_security_level(context,
                             std::max(SSL_CTX_get_security_level(context), kSecurityLevel));
  return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_ciphersuites(context, kCiphers) == 1 &&
         SSL_CTX_set1_groups_list(context, kGroups) == 1 &&
         SSL_CTX_set1_sigalgs_list(context, kSignatures) == 1 &&
         SSL_CTX_set1_client_sigalgs_list(context, kSignatures) == 1;
}

Status use_credentials(SSL_CTX* context, const TlsFiles& files) {
  ASSAY_ASSIGN(const SecretFile key, read_secret(files.private_key, kMaxKeyFile));
  return load(context, files, key);
}

Status check_client_credentials(const TlsFiles& files) {
  ASSAY_ASSIGN(const SecretFile key, read_secret(files.private_key, kMaxKeyFile));
  const std::string_view content = as_text(key.content.view());
  if (content.find("ENCRYPTED") != std::string_view::npos) {
    return {};
  }
  const Context context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr || !set_tls_terms(context.get())) {
    ERR_clear_error();
    return fail(ErrorCode::kInternal, "OpenSSL refuses the TLS settings");
  }
  return load(context.get(), files, key);
}

}  // namespace assay
