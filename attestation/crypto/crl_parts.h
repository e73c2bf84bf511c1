// SPDX-License-Identifier: Apache-2.0
// Checks of a revocation list that OpenSSL leaves to its callers. Internal to attestation.
#pragma once

#include <algorithm>
#include <cstdint>

#include <openssl/asn1.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "attestation/crypto/openssl_handles.h"
#include "schemas/core/bytes.h"

namespace assay::attestation {

inline constexpr long kCrlVersion2 = 1;  // the field holds the version less one
inline constexpr std::uint64_t kMaxCrlNumber = 0xffffffff;

// RFC 5280 section 5.2: what is critical must be understood, and the extensions that narrow a list
// (issuing distribution point, delta indicator) are critical by definition.
inline bool has_critical_extension(const STACK_OF(X509_EXTENSION) * extensions) {
  for (int i = 0; i < sk_X509_EXTENSION_num(extensions); ++i) {
    if (X509_EXTENSION_get_critical(sk_X509_EXTENSION_value(extensions, i)) != 0) {
      return true;
    }
  }
  return false;
}

// Whether the list is one of version 2 about all certificates of its issuer.
inline bool is_complete(const X509_CRL* crl) {
  return X509_CRL_get_version(crl) == kCrlVersion2 &&
         !has_critical_extension(X509_CRL_get0_extensions(crl)) &&
         X509_CRL_get_ext_by_NID(crl, NID_issuing_distribution_point, -1) < 0 &&
         X509_CRL_get_ext_by_NID(crl, NID_delta_crl, -1) < 0;
}

// Returns cRLNumber (RFC 5280 section 5.2.3), at most kMaxCrlNumber; 0 without one.
inline std::uint64_t number_of(const X509_CRL* crl) {
  const Handle<ASN1_INTEGER, ASN1_INTEGER_free> number(
      static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(crl, NID_crl_number, nullptr, nullptr)));
  std::uint64_t value = 0;
  if (number == nullptr || ASN1_STRING_type(number.get()) == V_ASN1_NEG_INTEGER) {
    return 0;
  }
  return ASN1_INTEGER_get_uint64(&value, number.get()) == 1 ? std::min(value, kMaxCrlNumber)
                                                            : kMaxCrlNumber;
}

// RFC 5280 section 5.1.1.2: the signed part names the same algorithm as the signature, which
// OpenSSL does not compare. In DER the signed part of version 2 begins with three bytes of its
// version.
inline bool names_one_algorithm(const X509_CRL* crl, ByteView der) {
  constexpr std::ptrdiff_t kVersionBytes = 3;
  const unsigned char* next = der.data();
  const unsigned char* const end = next + der.size();
  for (int level = 0; level < 2; ++level) {
    long size = 0;
    int tag = 0;
    int tag_class = 0;
    if (ASN1_get_object(&next, &size, &tag, &tag_class, end - next) != V_ASN1_CONSTRUCTED) {
      return false;
    }
  }
  const X509_ALGOR* algorithm = nullptr;
  X509_CRL_get0_signature(crl, nullptr, &algorithm);
  unsigned char* out = nullptr;
  const int size = i2d_X509_ALGOR(algorithm, &out);
  const bool same = size > 0 && end - next >= kVersionBytes + size &&
                    std::equal(out, out + size, next + kVersionBytes);
  OPENSSL_free(out);
  return same;
}

}  // namespace assay::attestation
