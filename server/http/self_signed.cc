// SPDX-License-Identifier: Apache-2.0
#include "server/http/self_signed.h"

#include <array>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "schemas/core/owner.h"

namespace assay::server {
namespace {

constexpr long kValidDays = 365;

using Key = Owner<EVP_PKEY, EVP_PKEY_free>;
using Certificate = Owner<X509, X509_free>;
using Extension = Owner<X509_EXTENSION, X509_EXTENSION_free>;
using File = Owner<std::FILE, std::fclose>;

std::string host_name() {
  std::array<char, 256> text{};
  return ::gethostname(text.data(), text.size() - 1) == 0 ? std::string(text.data())
                                                          : std::string();
}

std::string alternative_names(const std::string& address) {
  std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1";
  const std::string host = host_name();
  const bool plain =
      host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") ==
      std::string::npos;
  if (!host.empty() && plain && host != "localhost") {
    names += ",DNS:" + host;
  }
  if (address != "127.0.0.1" && address != "::1" && address != "0.0.0.0" && address != "::") {
    names += ",IP:" + address;
  }
  return names;
}

bool add_extension(X509* certificate, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  std::array<std::uint8_t, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    return false;
  }
  bytes[0] &= 0x7F;  // RFC 5280 section 4.1.2.2: positive
  bytes[0] |= 0x40;
  BIGNUM* const number = BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr);
  const bool done = number != nullptr &&
                    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return done;
}

Certificate make_certificate(EVP_PKEY* key, const std::string& address, Timestamp now) {
  Certificate certificate(X509_new());
  if (certificate == nullptr) {
    return nullptr;
  }
  X509* const raw = certificate.get();
  const std::time_t start = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(now));
  static constexpr std::array<unsigned char, 6> kName = {'a', 's', 's', 'a', 'y', 'd'};
  X509_NAME* const subject = X509_get_subject_name(raw);
  const bool done =
      X509_set_version(raw, X509_VERSION_3) == 1 && set_serial(raw) &&
      ASN1_TIME_adj(X509_getm_notBefore(raw), start, 0, -300) != nullptr &&
      ASN1_TIME_adj(X509_getm_notAfter(raw), start, kValidDays, 0) != nullptr &&
      X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_ASC, kName.data(),
                                 static_cast<int>(kName.size()), -1, 0) == 1 &&
      X509_set_issuer_name(raw, subject) == 1 && X509_set_pubkey(raw, key) == 1 &&
      // A client may name the certificate as its CA file: it vouches for itself and nothing else.
      add_extension(raw, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      add_extension(raw, NID_key_usage, "critical,digitalSignature,keyCertSign") &&
      add_extension(raw, NID_ext_key_usage, "serverAuth") &&
      add_extension(raw, NID_subject_key_identifier, "hash") &&
      add_extension(raw, NID_subject_alt_name, alternative_names(address)) &&
      X509_sign(raw, key, EVP_sha256()) != 0;
  return done ? std::move(certificate) : nullptr;
}

File create(const std::string& path, mode_t mode) {
  const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (number >= 0) {
    ::fchmod(number, mode);  // whatever the umask: a certificate is there to be read
  }
  return File(number < 0 ? nullptr : ::fdopen(number, "w"));
}

}  // namespace

Status make_self_signed(const SelfSignedOptions& options) {
  ERR_clear_error();
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate =
      key == nullptr ? nullptr : make_certificate(key.get(), options.address, options.now);
  if (certificate == nullptr) {
    ERR_clear_error();
    return fail(ErrorCode::kInternal, "OpenSSL cannot make a certificate");
  }
  const File key_file = create(options.private_key_file, 0600);
  if (key_file == nullptr || PEM_write_PKCS8PrivateKey(key_file.get(), key.get(), nullptr, nullptr,
                                                       0, nullptr, nullptr) != 1) {
    return fail(ErrorCode::kFileUnreadable, "the key file cannot be made",
                options.private_key_file);
  }
  const File certificate_file = create(options.certificate_file, 0644);
  if (certificate_file == nullptr ||
      PEM_write_X509(certificate_file.get(), certificate.get()) != 1) {
    return fail(ErrorCode::kFileUnreadable, "the certificate file cannot be made",
                options.certificate_file);
  }
  return {};
}

}  // namespace assay::server
