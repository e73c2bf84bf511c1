// SPDX-License-Identifier: Apache-2.0
// Owners of OpenSSL objects. Internal to this folder: included by its .cc files only.
#pragma once

#include <memory>

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>

namespace assay::attestation {

template <auto Free>
struct OpensslFree {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};

using BioHandle = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using PkeyHandle = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using PkeyContextHandle = std::unique_ptr<EVP_PKEY_CTX, OpensslFree<EVP_PKEY_CTX_free>>;
using DigestContextHandle = std::unique_ptr<EVP_MD_CTX, OpensslFree<EVP_MD_CTX_free>>;
using EcdsaSignatureHandle = std::unique_ptr<ECDSA_SIG, OpensslFree<ECDSA_SIG_free>>;
using Pkcs8Handle = std::unique_ptr<PKCS8_PRIV_KEY_INFO, OpensslFree<PKCS8_PRIV_KEY_INFO_free>>;
using X509SigHandle = std::unique_ptr<X509_SIG, OpensslFree<X509_SIG_free>>;
using AlgorithmHandle = std::unique_ptr<X509_ALGOR, OpensslFree<X509_ALGOR_free>>;

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
