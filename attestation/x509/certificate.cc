// SPDX-License-Identifier: Apache-2.0
// Parsing of certificates.
#include "attestation/x509/certificate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <mutex>
#include <optional>

#include <openssl/core_names.h>
#include <openssl/provider.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/x509/handles.h"
#include "schemas/core/sha.h"

namespace assay::attestation::x509 {

// OpenSSL's object is there twice: decoding a key takes longer than to verify a signature with it,
// and not every certificate gets as far as that.
struct Certificate::Impl {
  X509Handle bare;  // without its key
  mutable std::once_flag once;
  mutable X509Handle keyed;  // made when somebody needs it
  Bytes der;
  Bytes key_der;
  Digest digest;
  Timestamp not_before;
  Timestamp not_after;

  Impl(const Digest& hash, Timestamp from, Timestamp until)
      : digest(hash), not_before(from), not_after(until) {}
};

namespace {

constexpr int kMinRsaBits = 2048;
constexpr int kMaxRsaBits = 8192;
constexpr int kMaxSerialBytes = 20;  // RFC 5280 section 4.1.2.2
constexpr long kVersion3 = 2;
constexpr std::string_view kPemBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kPemEnd = "-----END CERTIFICATE-----";
constexpr std::string_view kAnyPemBegin = "-----BEGIN ";
constexpr std::size_t kPemColumns = 64;
constexpr int kYearZeroOfTm = 1900;

std::unexpected<Error> malformed(std::string why) {
  return fail(ErrorCode::kMalformedCertificate, std::move(why));
}

// What an i2d function of OpenSSL writes; empty when it fails.
template <typename T, typename Encode>
Bytes encoded(T* object, Encode encode) {
  unsigned char* out = nullptr;
  const int size = encode(object, &out);
  if (ASSAY_NO_MEMORY(size <= 0)) {
    return {};
  }
  Bytes der(out, out + size);
  OPENSSL_free(out);
  return der;
}

bool is_usable_curve(EVP_PKEY* key) {
  std::array<char, 64> curve{};
  std::size_t size = 0;
  int explicit_parameters = 0;
  if (EVP_PKEY_get_int_param(key, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS,
                             &explicit_parameters) != 1 ||
      explicit_parameters != 0 ||
      EVP_PKEY_get_group_name(key, curve.data(), curve.size(), &size) != 1) {
    return false;
  }
  const int group = OBJ_sn2nid(curve.data());
  return group == NID_X9_62_prime256v1 || group == NID_secp384r1 || group == NID_secp521r1;
}

bool is_usable_key(EVP_PKEY* key) {
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_ED25519:
      return true;
    case EVP_PKEY_EC:
      return is_usable_curve(key);
    case EVP_PKEY_RSA:
    case EVP_PKEY_RSA_PSS:
      return EVP_PKEY_get_bits(key) >= kMinRsaBits && EVP_PKEY_get_bits(key) <= kMaxRsaBits;
    default:
      return false;
  }
}

// Whether a key is plainly one on an accepted curve (RFC 5480 section 2.1.1: a named curve), so
// that it need not be decoded to tell.
bool is_on_named_curve(const X509* x509) {
  ASN1_OBJECT* algorithm = nullptr;
  X509_ALGOR* identifier = nullptr;
  if (X509_PUBKEY_get0_param(&algorithm, nullptr, nullptr, &identifier,
                             X509_get_X509_PUBKEY(x509)) != 1) {
    return false;
  }
  int type = V_ASN1_UNDEF;
  const void* curve = nullptr;
  X509_ALGOR_get0(nullptr, &type, &curve, identifier);
  if (OBJ_obj2nid(algorithm) != NID_X9_62_id_ecPublicKey || type != V_ASN1_OBJECT) {
    return false;
  }
  const int group = OBJ_obj2nid(static_cast<const ASN1_OBJECT*>(curve));
  return group == NID_X9_62_prime256v1 || group == NID_secp384r1 || group == NID_secp521r1;
}

// A library context whose only provider is "null". Null when it cannot be made: then the default
// context serves as well.
OSSL_LIB_CTX* without_decoders() {
  static OSSL_LIB_CTX* const context = [] {
    OSSL_LIB_CTX* made = OSSL_LIB_CTX_new();
    if (ASSAY_NO_MEMORY(made != nullptr && OSSL_PROVIDER_load(made, "null") == nullptr)) {
      OSSL_LIB_CTX_free(made);
      made = nullptr;
    }
    return made;
  }();
  return context;
}

// The object with its key; null when memory is short.
X509Handle parse_with_key(const Bytes& der) {
  const unsigned char* next = der.data();
  return X509Handle(d2i_X509(nullptr, &next, static_cast<long>(der.size())));
}

bool has_usable_key(const X509* bare, const Bytes& der) {
  if (is_on_named_curve(bare)) {
    return true;
  }
  const X509Handle keyed = parse_with_key(der);
  EVP_PKEY* key = keyed == nullptr ? nullptr : X509_get0_pubkey(keyed.get());
  return key != nullptr && is_usable_key(key);
}

// RFC 5280 section 4.2: one instance of each extension.
bool has_extension_twice(const X509* x509) {
  for (int i = 0; i < X509_get_ext_count(x509); ++i) {
    if (X509_get_ext_by_OBJ(x509, X509_EXTENSION_get_object(X509_get_ext(x509, i)), i) >= 0) {
      return true;
    }
  }
  return false;
}

// Reads the extensions that path validation uses into OpenSSL's cache of this object; false when
// one of them cannot be read.
bool has_readable_extensions(X509* x509) {
  return (X509_get_extension_flags(x509) & EXFLAG_INVALID) == 0;
}

Status check_form(X509* x509, ByteView der) {
  if (X509_get_version(x509) != kVersion3) {
    return malformed("a certificate has version 3");
  }
  if (encoded(x509, i2d_X509) != Bytes(der.begin(), der.end())) {
    return malformed("the certificate is not in DER");
  }
  if (ASN1_STRING_length(X509_get0_serialNumber(x509)) > kMaxSerialBytes) {
    return malformed("the serial number is longer than 20 bytes");
  }
  if (has_extension_twice(x509)) {
    return malformed("the certificate has an extension twice");
  }
  if (!has_readable_extensions(x509)) {
    return malformed("an extension of the certificate cannot be read");
  }
  return {};
}

std::string name_text(const X509_NAME* name) {
  const BioHandle out(BIO_new(BIO_s_mem()));
  if (ASSAY_NO_MEMORY(out == nullptr)) {
    return {};
  }
  // Without ESC_MSB, UTF-8 stays UTF-8; control characters are escaped.
  if (X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) < 0) {
    return {};
  }
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  std::string result = size > 0 ? std::string(text, static_cast<std::size_t>(size)) : "";
  return is_utf8(result) ? result : "";
}

// The next PEM block CERTIFICATE of `text`, which is cut off; nothing behind the last.
Result<std::optional<Bytes>> next_block(std::string_view& text) {
  const std::size_t begin = text.find(kAnyPemBegin);
  if (begin == std::string_view::npos) {
    return std::optional<Bytes>();
  }
  text.remove_prefix(begin);
  const std::size_t end = text.find(kPemEnd);
  if (!text.starts_with(kPemBegin) || end == std::string_view::npos) {
    return malformed("a certificate file holds whole PEM blocks CERTIFICATE, and no others");
  }
  std::string base64;
  for (const char c : text.substr(kPemBegin.size(), end - kPemBegin.size())) {
    if (c != '\n' && c != '\r') {
      base64 += c;
    }
  }
  text.remove_prefix(end + kPemEnd.size());
  auto der = base64_decode(base64);
  if (!der) {
    return malformed("a PEM block is not in base64");
  }
  return std::optional<Bytes>(*std::move(der));
}

}  // namespace

Result<Certificate> Certificate::from_der(ByteView der) {
  if (der.size() > kMaxCertificateBytes) {
    return fail(ErrorCode::kLimitExceeded,
                "a certificate has at most " + std::to_string(kMaxCertificateBytes) + " bytes");
  }
  const ErrorQueueGuard guard;
  X509Handle x509 = parse_without_key(der);
  if (x509 == nullptr) {
    return malformed("not one X.509 certificate in DER");
  }
  ASSAY_TRY(check_form(x509.get(), der));
  const auto not_before = to_timestamp(X509_get0_notBefore(x509.get()));
  const auto not_after = to_timestamp(X509_get0_notAfter(x509.get()));
  if (!not_before || !not_after || *not_before > *not_after) {
    return malformed("the validity of the certificate is no period of time");
  }
  auto impl = std::make_shared<Impl>(sha256(der), *not_before, *not_after);
  impl->der = Bytes(der.begin(), der.end());
  if (!has_usable_key(x509.get(), impl->der)) {
    return fail(ErrorCode::kUnsupportedKey,
                "keys of certificates are Ed25519, ECDSA on P-256, P-384 or P-521, or RSA of 2048 "
                "to 8192 bits");
  }
  impl->key_der = encoded(X509_get_X509_PUBKEY(x509.get()), i2d_X509_PUBKEY);
  impl->bare = std::move(x509);
  return Certificate(std::shared_ptr<const Impl>(std::move(impl)));
}

const Bytes& Certificate::der() const { return impl_->der; }
const Digest& Certificate::digest() const { return impl_->digest; }
Timestamp Certificate::not_before() const { return impl_->not_before; }
Timestamp Certificate::not_after() const { return impl_->not_after; }
const Bytes& Certificate::key_der() const { return impl_->key_der; }

std::string Certificate::subject() const {
  return name_text(X509_get_subject_name(impl_->bare.get()));
}

std::string Certificate::issuer() const {
  return name_text(X509_get_issuer_name(impl_->bare.get()));
}

std::string Certificate::serial() const {
  const ASN1_INTEGER* serial = X509_get0_serialNumber(impl_->bare.get());
  return hex_encode(ByteView(ASN1_STRING_get0_data(serial),
                             static_cast<std::size_t>(ASN1_STRING_length(serial))));
}

bool Certificate::is_ca() const {
  constexpr std::uint32_t kCa = EXFLAG_BCONS | EXFLAG_CA;
  return (X509_get_extension_flags(impl_->bare.get()) & kCa) == kCa;
}

bool Certificate::is_self_issued() const {
  return X509_NAME_cmp(X509_get_subject_name(impl_->bare.get()),
                       X509_get_issuer_name(impl_->bare.get())) == 0;
}

Result<PublicKey> Certificate::public_key() const { return PublicKey::from_der(impl_->key_der); }

X509* bare_x509_of(const Certificate& certificate) { return certificate.impl().bare.get(); }

X509* x509_of(const Certificate& certificate) {
  const Certificate::Impl& impl = certificate.impl();
  std::call_once(impl.once, [&] { impl.keyed = parse_with_key(impl.der); });
  return impl.keyed != nullptr ? impl.keyed.get() : impl.bare.get();
}

WithoutDecoders::WithoutDecoders()
    : previous_(without_decoders() == nullptr ? nullptr
                                              : OSSL_LIB_CTX_set0_default(without_decoders())) {}

WithoutDecoders::~WithoutDecoders() {
  if (previous_ != nullptr) {
    static_cast<void>(OSSL_LIB_CTX_set0_default(previous_));
  }
}

X509Handle parse_without_key(ByteView der) {
  const WithoutDecoders guard;
  const unsigned char* next = der.data();
  X509Handle x509(d2i_X509(nullptr, &next, static_cast<long>(der.size())));
  return x509 != nullptr && next == der.data() + der.size() ? std::move(x509) : nullptr;
}

Result<Certificate> certificate_of(const X509* x509) {
  return Certificate::from_der(encoded(x509, i2d_X509));
}

std::optional<Timestamp> to_timestamp(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_check(time) != 1 || ASN1_TIME_to_tm(time, &parts) != 1) {
    return std::nullopt;
  }
  const std::chrono::year_month_day day{std::chrono::year(parts.tm_year + kYearZeroOfTm),
                                        std::chrono::month(static_cast<unsigned>(parts.tm_mon) + 1),
                                        std::chrono::day(static_cast<unsigned>(parts.tm_mday))};
  return std::chrono::sys_days(day) + std::chrono::hours(parts.tm_hour) +
         std::chrono::minutes(parts.tm_min) + std::chrono::seconds(parts.tm_sec);
}

std::string dotted(const ASN1_OBJECT* object) {
  std::array<char, 128> text{};
  const int size = OBJ_obj2txt(text.data(), static_cast<int>(text.size()), object, 1);
  return size > 0 && size < static_cast<int>(text.size()) ? std::string(text.data()) : "";
}

Result<std::vector<Certificate>> parse_certificates(ByteView file) {
  if (file.size() > kMaxCertificateFile) {
    return fail(ErrorCode::kLimitExceeded, "a certificate file has at most 1 MiB");
  }
  std::vector<Certificate> certificates;
  std::string_view text = as_text(file);
  if (text.find(kAnyPemBegin) == std::string_view::npos) {
    ASSAY_ASSIGN(Certificate one, Certificate::from_der(file));
    certificates.push_back(std::move(one));
    return certificates;
  }
  for (;;) {
    ASSAY_ASSIGN(const std::optional<Bytes> der, next_block(text));
    if (!der) {
      return certificates;
    }
    if (certificates.size() == kMaxCertificates) {
      return fail(
          ErrorCode::kLimitExceeded,
          "a certificate file has at most " + std::to_string(kMaxCertificates) + " certificates");
    }
    ASSAY_ASSIGN(Certificate one, Certificate::from_der(*der));
    certificates.push_back(std::move(one));
  }
}

std::string pem(const Certificate& certificate) {
  const std::string base64 = base64_encode(certificate.der());
  std::string out(kPemBegin);
  for (std::size_t i = 0; i < base64.size(); i += kPemColumns) {
    out += "\n" + base64.substr(i, kPemColumns);
  }
  return out + "\n" + std::string(kPemEnd) + "\n";
}

}  // namespace assay::attestation::x509
