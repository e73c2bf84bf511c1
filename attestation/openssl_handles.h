// SPDX-License-Identifier: Apache-2.0
// Owners of OpenSSL objects. Internal to this folder: included by its .cc files only.
#pragma once

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>

#include "schemas/core/owner.h"

namespace assay::attestation {

using BioHandle = Owner<BIO, BIO_free_all>;
using PkeyHandle = Owner<EVP_PKEY, EVP_PKEY_free>;
using PkeyContextHandle = Owner<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using DigestContextHandle = Owner<EVP_MD_CTX, EVP_MD_CTX_free>;
using EcdsaSignatureHandle = Owner<ECDSA_SIG, ECDSA_SIG_free>;
using Pkcs8Handle = Owner<PKCS8_PRIV_KEY_INFO, PKCS8_PRIV_KEY_INFO_free>;
using X509SigHandle = Owner<X509_SIG, X509_SIG_free>;
using AlgorithmHandle = Owner<X509_ALGOR, X509_ALGOR_free>;

// Keeps the thread's error queue empty around an operation: what another library left there is not
// ours, and what we leave would confuse TLS on the same thread. Success is always read from return
// values, never from the queue.
class ErrorQueueGuard {
 public:
  ErrorQueueGuard() { ERR_clear_error(); }
  ~ErrorQueueGuard() { ERR_clear_error(); }
  ErrorQueueGuard(const ErrorQueueGuard&) = delete;
  ErrorQueueGuard& operator=(const ErrorQueueGuard&) = delete;
};

}  // namespace assay::attestation
