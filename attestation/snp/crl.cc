// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/crl.h"

#include <algorithm>

#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "attestation/crypto/crl_parts.h"
#include "attestation/snp/certificate_rules.h"
#include "attestation/x509/handles.h"

namespace assay::attestation::snp {
namespace {

using CrlHandle = Handle<X509_CRL, X509_CRL_free>;
using PssHandle = Handle<RSA_PSS_PARAMS, RSA_PSS_PARAMS_free>;

// A sign byte and the magnitude.
Bytes serial_bytes(const ASN1_INTEGER* serial) {
  const unsigned char* data = ASN1_STRING_get0_data(serial);
  const auto size = static_cast<std::size_t>(ASN1_STRING_length(serial));
  Bytes bytes = {static_cast<std::uint8_t>(ASN1_STRING_type(serial) == V_ASN1_NEG_INTEGER)};
  bytes.insert(bytes.end(), data, data + size);
  return bytes;
}

// RFC 4055 section 3.1.
bool is_pss_with_sha384(const X509_CRL* crl) {
  const X509_ALGOR* algorithm = nullptr;
  X509_CRL_get0_signature(crl, nullptr, &algorithm);
  const ASN1_OBJECT* object = nullptr;
  int type = V_ASN1_UNDEF;
  const void* value = nullptr;
  X509_ALGOR_get0(&object, &type, &value, algorithm);
  if (OBJ_obj2nid(object) != NID_rsassaPss || type != V_ASN1_SEQUENCE) {
    return false;
  }
  const auto* const text = static_cast<const ASN1_STRING*>(value);
  const unsigned char* next = ASN1_STRING_get0_data(text);
  const PssHandle parameters(d2i_RSA_PSS_PARAMS(nullptr, &next, ASN1_STRING_length(text)));
  if (parameters == nullptr || parameters->hashAlgorithm == nullptr) {
    return false;
  }
  X509_ALGOR_get0(&object, nullptr, nullptr, parameters->hashAlgorithm);
  return OBJ_obj2nid(object) == NID_sha384;
}

// X.690 section 10: one encoding. Bits that the signature does not cover, such as unused ones of
// its own, are as OpenSSL would write them.
bool is_der(X509_CRL* crl, ByteView der) {
  unsigned char* out = nullptr;
  const int size = i2d_X509_CRL(crl, &out);
  const bool same =
      size > 0 && std::ranges::equal(ByteView(out, static_cast<std::size_t>(size)), der);
  OPENSSL_free(out);
  const ASN1_BIT_STRING* signature = nullptr;
  X509_CRL_get0_signature(crl, &signature, nullptr);
  constexpr long kUnusedBits = 0x07;
  return same && (signature->flags & kUnusedBits) == 0;
}

Checked<std::vector<Bytes>> serials_of(X509_CRL* crl) {
  std::vector<Bytes> serials;
  const STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(crl);
  for (int i = 0; i < sk_X509_REVOKED_num(revoked); ++i) {
    const X509_REVOKED* entry = sk_X509_REVOKED_value(revoked, i);
    if (has_critical_extension(X509_REVOKED_get0_extensions(entry))) {
      return reject(SnpError::kCrlFormat, "entries of this issuer only");
    }
    serials.push_back(serial_bytes(X509_REVOKED_get0_serialNumber(entry)));
  }
  std::ranges::sort(serials);
  return serials;
}

Outcome check_issuer(X509_CRL* crl, const x509::Certificate& issuer) {
  X509* const x509 = x509::x509_of(issuer);
  if (X509_NAME_cmp(X509_CRL_get_issuer(crl), X509_get_subject_name(x509)) != 0) {
    return reject(SnpError::kCrlIssuerMismatch, subject_name(issuer), "another issuer");
  }
  if (!is_pss_with_sha384(crl) || X509_CRL_verify(crl, X509_get0_pubkey(x509)) != 1) {
    return reject(SnpError::kCrlSignature, "signed by " + subject_name(issuer));
  }
  return {};
}

}  // namespace

Checked<RevocationList> open_crl(ByteView der, const x509::Certificate& issuer) {
  const ErrorQueueGuard guard;
  if (der.size() > kMaxCrlBytes) {
    return reject(SnpError::kInputTooLarge, "at most " + std::to_string(kMaxCrlBytes) + " bytes",
                  std::to_string(der.size()) + " bytes");
  }
  const unsigned char* next = der.data();
  const CrlHandle crl(der.empty() ? nullptr
                                  : d2i_X509_CRL(nullptr, &next, static_cast<long>(der.size())));
  if (crl == nullptr || next != der.data() + der.size() || !is_der(crl.get(), der) ||
      !names_one_algorithm(crl.get(), der) || !is_complete(crl.get())) {
    return reject(SnpError::kCrlFormat, "a complete DER CRL of version 2");
  }
  const auto this_update = x509::to_timestamp(X509_CRL_get0_lastUpdate(crl.get()));
  const auto next_update = x509::to_timestamp(X509_CRL_get0_nextUpdate(crl.get()));
  if (!this_update || !next_update) {
    return reject(SnpError::kCrlFormat, "thisUpdate and nextUpdate");
  }
  if (auto outcome = check_issuer(crl.get(), issuer); !outcome) {
    return std::unexpected(std::move(outcome).error());
  }
  auto serials = serials_of(crl.get());
  if (!serials) {
    return std::unexpected(std::move(serials).error());
  }
  return RevocationList{number_of(crl.get()), *this_update, *next_update, *std::move(serials)};
}

Outcome check_crl_time(const RevocationList& list, Timestamp now) {
  if (now < list.this_update) {
    return reject(SnpError::kCrlNotYetValid, "from " + to_rfc3339(list.this_update),
                  to_rfc3339(now));
  }
  if (now > list.next_update) {
    return reject(SnpError::kCrlExpired, "until " + to_rfc3339(list.next_update), to_rfc3339(now));
  }
  return {};
}

bool is_revoked(const RevocationList& list, const x509::Certificate& certificate) {
  return std::ranges::binary_search(
      list.serials, serial_bytes(X509_get0_serialNumber(x509::bare_x509_of(certificate))));
}

}  // namespace assay::attestation::snp
