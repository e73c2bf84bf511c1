// SPDX-License-Identifier: Apache-2.0
// Owners of OpenSSL's X.509 objects. Internal to this folder: included by its .cc files only.
#pragma once

#include <memory>

#include <openssl/x509.h>

#include "attestation/openssl_handles.h"

namespace assay::attestation::tdx {

using X509Handle = std::unique_ptr<X509, OpensslFree<X509_free>>;
using X509CrlHandle = std::unique_ptr<X509_CRL, OpensslFree<X509_CRL_free>>;

}  // namespace assay::attestation::tdx
