// SPDX-License-Identifier: Apache-2.0
// Owners of OpenSSL's X.509 objects. Internal to this folder: included by its .cc files only.
#pragma once

#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "attestation/crypto/openssl_handles.h"

namespace assay::attestation::tdx {

using X509Handle = Handle<X509, X509_free>;
using X509CrlHandle = Handle<X509_CRL, X509_CRL_free>;
using AuthorityKeyHandle = Handle<AUTHORITY_KEYID, AUTHORITY_KEYID_free>;

}  // namespace assay::attestation::tdx
