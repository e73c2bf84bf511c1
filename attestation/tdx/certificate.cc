// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/certificate.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <openssl/asn1.h>
#include <openssl/provider.h>
#include <openssl/x509v3.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/tdx/ecdsa.h"
#include "schemas/core/sha.h"

namespace assay::attestation::tdx {

const ChainErrors kPckErrors = {
    TdxError::kPckChainFormat,    TdxError::kPckChainLength, TdxError::kPckChainNames,
    TdxError::kPckRootUntrusted,  TdxError::kPckCertKeyType, TdxError::kPckBasicConstraints,
    TdxError::kPckChainSignature, TdxError::kPckCertExpired, TdxError::kPckCertNotYetValid,
    TdxError::kPckCertRevoked,
};
const ChainErrors kTcbInfoErrors = {
    TdxError::kTcbInfoChainFormat,     TdxError::kTcbInfoChainLength,
    TdxError::kTcbInfoChainNames,      TdxError::kTcbInfoRootUntrusted,
    TdxError::kTcbInfoCertKeyType,     TdxError::kTcbInfoBasicConstraints,
    TdxError::kTcbInfoChainSignature,  TdxError::kTcbInfoCertExpired,
    TdxError::kTcbInfoCertNotYetValid, TdxError::kTcbInfoCertRevoked,
};
const ChainErrors kQeIdentityErrors = {
    TdxError::kQeIdentityChainFormat,     TdxError::kQeIdentityChainLength,
    TdxError::kQeIdentityChainNames,      TdxError::kQeIdentityRootUntrusted,
    TdxError::kQeIdentityCertKeyType,     TdxError::kQeIdentityBasicConstraints,
    TdxError::kQeIdentityChainSignature,  TdxError::kQeIdentityCertExpired,
    TdxError::kQeIdentityCertNotYetValid, TdxError::kQeIdentityCertRevoked,
};

namespace {

constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
constexpr std::string_view kLineEnds = "\r\n";
constexpr std::size_t kMaxBlocks = 8;
constexpr std::size_t kMaxChainBytes = 64U << 10;
constexpr long kVersion3 = 2;  // the field holds the version less one

// Content octets of the OID 1.2.840.113741.1.13.1.
constexpr std::array<std::uint8_t, 9> kSgxExtension = {0x2a, 0x86, 0x48, 0x86, 0xf8,
                                                       0x4d, 0x01, 0x0d, 0x01};

void skip_line_ends(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kLineEnds), text.size()));
}

// The one common name of a subject; nothing when there is none or another.
std::optional<std::string> common_name_of(const X509_NAME* subject) {
  const int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (index < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, index) >= 0) {
    return std::nullopt;
  }
  const ASN1_STRING* data = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index));
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, data);
  if (size < 0) {
    return std::nullopt;
  }
  std::string name(text, text + size);
  OPENSSL_free(text);
  return name;
}

// Whether this folder does what the extension demands. OpenSSL knows more of them, such as name
// constraints, which nothing here enforces. The SGX extension, read by its own parser, is not
// critical on current chains but was on old ones.
bool is_understood(X509_EXTENSION* extension) {
  const int kind = OBJ_obj2nid(X509_EXTENSION_get_object(extension));
  return kind == NID_basic_constraints || kind == NID_key_usage ||
         kind == NID_authority_key_identifier || is_sgx_extension(extension);
}

// RFC 5280 section 4.2: what is critical must be understood.
bool has_unknown_critical(const X509* x509) {
  for (int i = 0; i < X509_get_ext_count(x509); ++i) {
    X509_EXTENSION* extension = X509_get_ext(x509, i);
    if (X509_EXTENSION_get_critical(extension) != 0 && !is_understood(extension)) {
      return true;
    }
  }
  return false;
}

std::string join(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) {
    text += (text.empty() ? "" : " or ") + std::string(name);
  }
  return text;
}

Outcome check_names(const Chain& chain, std::span<const ChainPlace> places,
                    const ChainErrors& errors) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Certificate& certificate = *chain[i];
    const Certificate& issuer = *chain[std::min(i + 1, chain.size() - 1)];
    if (std::ranges::find(places[i].common_names, certificate.common_name) ==
        places[i].common_names.end()) {
      return reject(errors.names, join(places[i].common_names), certificate.common_name);
    }
    // RFC 5280 section 6.1.3 (a)(4): the chain's names follow each other.
    if (X509_NAME_cmp(X509_get_issuer_name(certificate.x509.get()),
                      X509_get_subject_name(issuer.x509.get())) != 0) {
      return reject(errors.names, "issued by " + issuer.common_name,
                    certificate.common_name + " of another issuer");
    }
  }
  return {};
}

// RFC 5280 sections 4.2.1.3 and 4.2.1.9. `cas_below` counts the CAs between `certificate` and the
// leaf.
Outcome check_constraints(const Certificate& certificate, bool is_ca, std::size_t cas_below,
                          const ChainErrors& errors) {
  X509* x509 = certificate.x509.get();
  const std::uint32_t flags = X509_get_extension_flags(x509);
  const bool claims_ca = (flags & EXFLAG_CA) != 0;
  if ((flags & EXFLAG_BCONS) == 0 || claims_ca != is_ca) {
    return reject(errors.constraints, is_ca ? "CA:TRUE" : "CA:FALSE",
                  certificate.common_name + (claims_ca ? " with CA:TRUE" : " without CA:TRUE"));
  }
  const long path_length = X509_get_pathlen(x509);  // -1: not limited
  if (is_ca && path_length >= 0 && static_cast<std::size_t>(path_length) < cas_below) {
    return reject(errors.constraints, "path length " + std::to_string(cas_below) + " or more",
                  std::to_string(path_length));
  }
  const std::uint32_t needed = is_ca ? KU_KEY_CERT_SIGN | KU_CRL_SIGN : KU_DIGITAL_SIGNATURE;
  if ((flags & EXFLAG_KUSAGE) == 0 || (X509_get_key_usage(x509) & needed) != needed) {
    return reject(errors.constraints,
                  is_ca ? "key usage keyCertSign, cRLSign" : "key usage digitalSignature",
                  certificate.common_name);
  }
  return {};
}

Outcome check_key_type(const Certificate& certificate, const ChainErrors& errors) {
  if (!is_p256(certificate.key()) ||
      X509_get_signature_nid(certificate.x509.get()) != NID_ecdsa_with_SHA256) {
    return reject(errors.key_type, "P-256, ecdsa-with-SHA256", certificate.common_name);
  }
  return {};
}

CertificatePtr find_known(std::span<const CertificatePtr> known, const Bytes& der) {
  const auto found =
      std::ranges::find_if(known, [&](const CertificatePtr& c) { return c->der == der; });
  return found == known.end() ? nullptr : *found;
}

// d2i_X509() sends the key of a certificate through all decoders of its library context, which
// takes longer than to verify a signature. A context whose only provider is "null" has none. Null
// when it cannot be made: then the default context serves as well.
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

// RFC 5480 section 2.1.1: id-ecPublicKey with the named curve P-256, as an uncompressed point.
// Nothing for any other key.
ByteView p256_point(X509_PUBKEY* info) {
  ASN1_OBJECT* algorithm = nullptr;
  const unsigned char* point = nullptr;
  int size = 0;
  X509_ALGOR* identifier = nullptr;
  if (X509_PUBKEY_get0_param(&algorithm, &point, &size, &identifier, info) != 1) {
    return {};
  }
  int type = V_ASN1_UNDEF;
  const void* curve = nullptr;
  X509_ALGOR_get0(nullptr, &type, &curve, identifier);
  const bool is_p256 =
      OBJ_obj2nid(algorithm) == NID_X9_62_id_ecPublicKey && type == V_ASN1_OBJECT &&
      OBJ_obj2nid(static_cast<const ASN1_OBJECT*>(curve)) == NID_X9_62_prime256v1 &&
      size == 1 + static_cast<int>(kRawKeyBytes) && *point == 0x04;
  return is_p256 ? ByteView(point + 1, kRawKeyBytes) : ByteView();
}

// The key of a certificate; null when it cannot be decoded.
PkeyHandle key_of(const X509* x509) {
  X509_PUBKEY* info = X509_get_X509_PUBKEY(x509);
  if (const ByteView point = p256_point(info); !point.empty()) {
    return import_p256(point);
  }
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(info, &der);
  if (ASSAY_NO_MEMORY(size <= 0)) {
    return nullptr;
  }
  const unsigned char* next = der;
  PkeyHandle key(d2i_PUBKEY(nullptr, &next, size));
  OPENSSL_free(der);
  return key;
}

// The exact bytes that the issuer signed, RFC 5280 section 4.1: the first member of the outermost
// sequence.
ByteView signed_part(ByteView der) {
  const unsigned char* next = der.data();
  const unsigned char* const end = next + der.size();
  long size = 0;
  int tag = 0;
  int tag_class = 0;
  if (ASN1_get_object(&next, &size, &tag, &tag_class, end - next) != V_ASN1_CONSTRUCTED) {
    return {};
  }
  const unsigned char* const begin = next;
  if (ASN1_get_object(&next, &size, &tag, &tag_class, end - next) != V_ASN1_CONSTRUCTED) {
    return {};
  }
  return {begin, next + size};
}

// RFC 5280 section 6.1.3 (a)(1). check_key_type() holds the algorithm to ECDSA with SHA-256.
bool has_signature_of(const Certificate& certificate, EVP_PKEY* key) {
  const ASN1_BIT_STRING* bits = nullptr;
  const X509_ALGOR* algorithm = nullptr;
  X509_get0_signature(&bits, &algorithm, certificate.x509.get());
  constexpr long kUnusedBits = 0x07;
  // Section 4.1.1.2: the signed part names the same algorithm.
  if (X509_ALGOR_cmp(algorithm, X509_get0_tbs_sigalg(certificate.x509.get())) != 0 ||
      (bits->flags & kUnusedBits) != 0) {
    return false;
  }
  const ByteView signature(ASN1_STRING_get0_data(bits),
                           static_cast<std::size_t>(ASN1_STRING_length(bits)));
  return verify_der(key, signed_part(certificate.der), signature);
}

// Authority key identifier (RFC 5280 section 4.2.1.1), then the signature itself. check_names() and
// check_constraints() see to the rest.
bool is_signed_by(const Certificate& certificate, const Certificate& issuer) {
  const AuthorityKeyHandle identifier(static_cast<AUTHORITY_KEYID*>(
      X509_get_ext_d2i(certificate.x509.get(), NID_authority_key_identifier, nullptr, nullptr)));
  return X509_check_akid(issuer.x509.get(), identifier.get()) == X509_V_OK &&
         has_signature_of(certificate, issuer.key());
}

}  // namespace

bool is_sgx_extension(X509_EXTENSION* extension) {
  const ASN1_OBJECT* oid = X509_EXTENSION_get_object(extension);
  return std::ranges::equal(ByteView(OBJ_get0_data(oid), OBJ_length(oid)), kSgxExtension);
}

CertificatePtr parse_certificate(ByteView der) {
  const ErrorQueueGuard guard;
  const unsigned char* next = der.data();
  X509* made = X509_new_ex(without_decoders(), nullptr);
  if (ASSAY_NO_MEMORY(made == nullptr)) {
    return nullptr;
  }
  // Frees `made` and clears the pointer when it fails.
  X509Handle x509(d2i_X509(&made, &next, static_cast<long>(der.size())));
  if (x509 == nullptr || next != der.data() + der.size() ||
      X509_get_version(x509.get()) != kVersion3) {
    return nullptr;
  }
  PkeyHandle key = key_of(x509.get());
  if (key == nullptr) {
    return nullptr;
  }
  const std::uint32_t flags = X509_get_extension_flags(x509.get());
  auto name = common_name_of(X509_get_subject_name(x509.get()));
  const auto not_before = to_timestamp(X509_get0_notBefore(x509.get()));
  const auto not_after = to_timestamp(X509_get0_notAfter(x509.get()));
  if ((flags & EXFLAG_INVALID) != 0 || has_unknown_critical(x509.get()) || !name || !not_before ||
      !not_after) {
    return nullptr;
  }
  Bytes serial = serial_bytes(X509_get0_serialNumber(x509.get()));
  return std::make_shared<const Certificate>(
      Certificate{Bytes(der.begin(), der.end()), std::move(x509), std::move(key), std::move(*name),
                  std::move(serial), *not_before, *not_after});
}

std::optional<std::vector<Bytes>> split_pem_chain(std::string_view pem) {
  if (pem.ends_with('\0')) {
    pem.remove_suffix(1);
  }
  if (pem.size() > kMaxChainBytes) {
    return std::nullopt;
  }
  std::vector<Bytes> chain;
  for (skip_line_ends(pem); !pem.empty(); skip_line_ends(pem)) {
    const std::size_t end = pem.find(kEnd);
    if (!pem.starts_with(kBegin) || end == std::string_view::npos || chain.size() == kMaxBlocks) {
      return std::nullopt;
    }
    std::string base64;
    base64.reserve(end);
    for (const char c : pem.substr(kBegin.size(), end - kBegin.size())) {
      if (c != '\n' && c != '\r') {
        base64 += c;
      }
    }
    auto der = base64_decode(base64);
    if (!der) {
      return std::nullopt;
    }
    chain.push_back(std::move(*der));
    pem.remove_prefix(end + kEnd.size());
  }
  return chain;
}

Bytes serial_bytes(const ASN1_INTEGER* serial) {
  Bytes bytes = {static_cast<std::uint8_t>(ASN1_STRING_type(serial) == V_ASN1_NEG_INTEGER)};
  const unsigned char* data = ASN1_STRING_get0_data(serial);
  bytes.insert(bytes.end(), data, data + ASN1_STRING_length(serial));
  return bytes;
}

std::optional<Timestamp> to_timestamp(const ASN1_TIME* time) {
  std::tm fields{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &fields) != 1 || fields.tm_year < 70) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{
      std::chrono::year(fields.tm_year + 1900),
      std::chrono::month(static_cast<unsigned>(fields.tm_mon + 1)),
      std::chrono::day(static_cast<unsigned>(fields.tm_mday))};
  return std::chrono::sys_days(date) + std::chrono::hours(fields.tm_hour) +
         std::chrono::minutes(fields.tm_min) + std::chrono::seconds(fields.tm_sec);
}

Checked<Chain> open_chain(std::string_view pem, std::span<const ChainPlace> places,
                          const CertificatePtr& anchor, const ChainErrors& errors,
                          std::span<const CertificatePtr> known) {
  const ErrorQueueGuard guard;
  const auto ders = split_pem_chain(pem);
  if (!ders) {
    return reject(errors.format, "PEM certificates");
  }
  if (ders->size() != places.size()) {
    return reject(errors.length, std::to_string(places.size()), std::to_string(ders->size()));
  }
  Chain chain;
  std::vector<bool> verified;
  for (const Bytes& der : *ders) {
    CertificatePtr found = der == anchor->der ? anchor : find_known(known, der);
    verified.push_back(found != nullptr);
    chain.push_back(found != nullptr ? std::move(found) : parse_certificate(der));
    if (chain.back() == nullptr) {
      return reject(errors.format, "an X.509 certificate");
    }
  }
  if (auto outcome = check_names(chain, places, errors); !outcome) {
    return std::unexpected(outcome.error());
  }
  if (chain.back() != anchor) {
    return reject(errors.root, sha256(anchor->der).text(), sha256(chain.back()->der).text());
  }
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (auto outcome = check_key_type(*chain[i], errors); !outcome) {
      return std::unexpected(outcome.error());
    }
    const std::size_t cas_below = i > 0 ? i - 1 : 0;
    if (auto outcome = check_constraints(*chain[i], places[i].is_ca, cas_below, errors); !outcome) {
      return std::unexpected(outcome.error());
    }
  }
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    if (!verified[i] && !is_signed_by(*chain[i], *chain[i + 1])) {
      return reject(errors.signature, "signed by " + chain[i + 1]->common_name,
                    chain[i]->common_name);
    }
  }
  return chain;
}

Outcome check_chain_time(std::span<const CertificatePtr> chain, Timestamp now,
                         const ChainErrors& errors) {
  for (const CertificatePtr& certificate : chain) {
    if (now < certificate->not_before) {
      return reject(errors.not_yet_valid, "from " + to_rfc3339(certificate->not_before),
                    to_rfc3339(now));
    }
    if (now > certificate->not_after) {
      return reject(errors.expired, "until " + to_rfc3339(certificate->not_after), to_rfc3339(now));
    }
  }
  return {};
}

}  // namespace assay::attestation::tdx
