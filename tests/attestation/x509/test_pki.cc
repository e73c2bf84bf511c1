// SPDX-License-Identifier: Apache-2.0
#include "tests/attestation/x509/test_pki.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

namespace assay::test {
namespace {

using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;

// Stops the test program when OpenSSL fails: nothing could be tested.
void must(bool done, const char* what) {
  if (!done) {
    std::cerr << "test certificates: " << what << " failed\n";
    ERR_print_errors_fp(stderr);
    std::abort();
  }
}

void set_time(ASN1_TIME* time, const std::string& text) {
  const Timestamp at = parse_rfc3339(text).value();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch());
  must(ASN1_TIME_set(time, static_cast<std::time_t>(seconds.count())) != nullptr, "a time");
}

void set_name(X509_NAME* name, const std::string& text) {
  must(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                  reinterpret_cast<const unsigned char*>(text.data()),
                                  static_cast<int>(text.size()), -1, 0) == 1,
       "a name");
}

void set_serial(ASN1_INTEGER* out, const CertificateSpec& spec) {
  if (spec.serial_hex.empty()) {
    must(ASN1_INTEGER_set(out, spec.serial) == 1, "a serial number");
    return;
  }
  BIGNUM* number = nullptr;
  must(BN_hex2bn(&number, spec.serial_hex.c_str()) > 0, "a serial number");
  must(BN_to_ASN1_INTEGER(number, out) != nullptr, "a serial number");
  BN_free(number);
}

}  // namespace

KeyPtr make_key(const std::string& kind) {
  EVP_PKEY* key = nullptr;
  if (kind.starts_with("RSA-")) {
    key = EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA",
                            static_cast<std::size_t>(std::stoul(kind.substr(4))));
  } else if (kind == "ED25519") {
    key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  } else {
    key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", kind.c_str());
  }
  must(key != nullptr, kind.c_str());
  return {key, EVP_PKEY_free};
}

KeyPtr key_of(const std::string& kind, int number) {
  static std::map<std::pair<std::string, int>, KeyPtr> keys;
  KeyPtr& key = keys[{kind, number}];
  if (key == nullptr) {
    key = make_key(kind);
  }
  return key;
}

Bytes public_der(const KeyPtr& key) {
  unsigned char* out = nullptr;
  const int size = i2d_PUBKEY(key.get(), &out);
  must(size > 0, "a public key");
  Bytes der(out, out + size);
  OPENSSL_free(out);
  return der;
}

Bytes sign_with(const KeyPtr& key, ByteView message, const char* hash) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  const char* name = *hash == '\0' ? nullptr : hash;
  must(EVP_DigestSignInit_ex(context.get(), nullptr, name, nullptr, nullptr, key.get(), nullptr) ==
           1,
       "signing");
  std::size_t size = 0;
  must(EVP_DigestSign(context.get(), nullptr, &size, message.data(), message.size()) == 1,
       "signing");
  Bytes signature(size);
  must(EVP_DigestSign(context.get(), signature.data(), &size, message.data(), message.size()) == 1,
       "signing");
  signature.resize(size);
  return signature;
}

void add_extension(X509* x509, const Extension& extension) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, x509, x509, nullptr, nullptr, 0);
  X509V3_set_ctx_nodb(&context);
  X509_EXTENSION* made =
      X509V3_EXT_nconf(nullptr, &context, extension.first.c_str(), extension.second.c_str());
  must(made != nullptr, extension.first.c_str());
  must(X509_add_ext(x509, made, -1) == 1, "an extension");
  X509_EXTENSION_free(made);
}

Bytes make_certificate(const CertificateSpec& spec) {
  const X509Ptr x509(X509_new(), X509_free);
  must(X509_set_version(x509.get(), spec.version) == 1, "a version");
  set_serial(X509_get_serialNumber(x509.get()), spec);
  set_name(X509_get_subject_name(x509.get()), spec.subject);
  set_name(X509_get_issuer_name(x509.get()), spec.issuer);
  set_time(X509_getm_notBefore(x509.get()), spec.not_before);
  set_time(X509_getm_notAfter(x509.get()), spec.not_after);
  must(X509_set_pubkey(x509.get(), spec.key.get()) == 1, "a key");
  for (const Extension& extension : spec.extensions) {
    add_extension(x509.get(), extension);
  }
  const bool hashes = EVP_PKEY_get_base_id(spec.issuer_key.get()) != EVP_PKEY_ED25519;
  must(X509_sign(x509.get(), spec.issuer_key.get(),
                 hashes ? EVP_get_digestbyname(spec.hash) : nullptr) > 0,
       "signing");
  unsigned char* out = nullptr;
  const int size = i2d_X509(x509.get(), &out);
  must(size > 0, "a certificate");
  Bytes der(out, out + size);
  OPENSSL_free(out);
  return der;
}

attestation::x509::Certificate certificate(const CertificateSpec& spec) {
  auto parsed = attestation::x509::Certificate::from_der(make_certificate(spec));
  if (!parsed) {
    std::cerr << to_string(parsed.error()) << "\n";
    must(false, "parsing");
  }
  return *std::move(parsed);
}

CertificateSpec root_spec(const std::string& name, int key) {
  CertificateSpec spec;
  spec.subject = spec.issuer = name;
  spec.key = spec.issuer_key = key_of("P-384", key);
  spec.hash = "SHA384";
  spec.extensions = {{"basicConstraints", "critical,CA:TRUE"},
                     {"keyUsage", "critical,keyCertSign,cRLSign"},
                     {"subjectKeyIdentifier", "hash"}};
  return spec;
}

CertificateSpec ca_spec() {
  CertificateSpec spec;
  spec.subject = "ca";
  spec.key = key_of("P-256", 1);
  spec.issuer_key = key_of("P-384");
  spec.serial = 2;
  spec.extensions = {{"basicConstraints", "critical,CA:TRUE,pathlen:0"},
                     {"keyUsage", "critical,keyCertSign"},
                     {"extendedKeyUsage", "codeSigning"}};
  return spec;
}

CertificateSpec leaf_spec() {
  CertificateSpec spec;
  spec.issuer = "ca";
  spec.key = key_of("P-256", 2);
  spec.issuer_key = key_of("P-256", 1);
  spec.serial = 3;
  spec.extensions = {{"keyUsage", "critical,digitalSignature"},
                     {"extendedKeyUsage", "codeSigning"},
                     {"subjectAltName", "email:signer@example.com"}};
  return spec;
}

CertificateSpec with(CertificateSpec spec, const std::string& name, const std::string& value) {
  std::erase_if(spec.extensions, [&](const Extension& e) { return e.first == name; });
  if (!value.empty()) {
    spec.extensions.emplace_back(name, value);
  }
  return spec;
}

}  // namespace assay::test
