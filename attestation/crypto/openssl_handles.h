// SPDX-License-Identifier: Apache-2.0
// Owners of OpenSSL objects. Internal to attestation.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "schemas/core/handle.h"

namespace assay::attestation {

using BignumHandle = Handle<BIGNUM, BN_free>;
using BioHandle = Handle<BIO, BIO_free_all>;
using PkeyHandle = Handle<EVP_PKEY, EVP_PKEY_free>;
using PkeyContextHandle = Handle<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using DigestContextHandle = Handle<EVP_MD_CTX, EVP_MD_CTX_free>;
using EcdsaSignatureHandle = Handle<ECDSA_SIG, ECDSA_SIG_free>;
using Pkcs8Handle = Handle<PKCS8_PRIV_KEY_INFO, PKCS8_PRIV_KEY_INFO_free>;
using X509SigHandle = Handle<X509_SIG, X509_SIG_free>;
using AlgorithmHandle = Handle<X509_ALGOR, X509_ALGOR_free>;

// Clears the thread's error queue before and after an operation. Errors that another library left
// in the queue do not belong to the operation. Errors that the operation leaves in the queue would
// confuse TLS on the same thread. Success is always read from return values, never from the queue.
class ErrorQueueGuard {
 public:
  ErrorQueueGuard() { ERR_clear_error(); }
  ~ErrorQueueGuard() { ERR_clear_error(); }
  ErrorQueueGuard(const ErrorQueueGuard&) = delete;
  ErrorQueueGuard& operator=(const ErrorQueueGuard&) = delete;
};

}  // namespace assay::attestation
