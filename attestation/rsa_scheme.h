// SPDX-License-Identifier: Apache-2.0
// How OpenSSL is told to sign or verify with an RSA key. Internal to this folder.
#pragma once

#include "attestation/algorithms.h"
#include "attestation/crypto/openssl_handles.h"

namespace assay::attestation {

// Sets the padding of RFC 8017 section 8.1 or 8.2 beside the hash that `context` has. RSASSA-PSS
// gets MGF1 with the same hash, which is what OpenSSL does when told nothing else, and a salt as
// long as it. False for a scheme that is none of RSA.
[[nodiscard]] inline bool set_rsa_padding(EVP_PKEY_CTX* context, const SignatureScheme& scheme) {
  if (scheme.algorithm == SignatureAlgorithm::kRsaPkcs1) {
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1;
  }
  return scheme.algorithm == SignatureAlgorithm::kRsaPss &&
         EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
         EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

// Sets hash and padding.
[[nodiscard]] inline bool set_rsa_scheme(EVP_PKEY_CTX* context, const SignatureScheme& scheme) {
  const char* const hash = openssl_name(scheme.hash);
  const EVP_MD* const md = hash == nullptr ? nullptr : EVP_get_digestbyname(hash);
  return md != nullptr && EVP_PKEY_CTX_set_signature_md(context, md) == 1 &&
         set_rsa_padding(context, scheme);
}

}  // namespace assay::attestation
