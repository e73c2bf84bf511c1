// SPDX-License-Identifier: Apache-2.0
#include "attestation/nvidia/ocsp_request.h"

#include <openssl/evp.h>
#include <openssl/ocsp.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/x509/handles.h"

namespace assay::attestation::nvidia {

Result<Bytes> ocsp_request(const x509::Certificate& certificate, const x509::Certificate& issuer) {
  const Handle<OCSP_REQUEST, OCSP_REQUEST_free> request(OCSP_REQUEST_new());
  Handle<OCSP_CERTID, OCSP_CERTID_free> id(
      OCSP_cert_to_id(EVP_sha1(), x509::bare_x509_of(certificate), x509::bare_x509_of(issuer)));
  const bool is_made = request && id && OCSP_request_add0_id(request.get(), id.get()) != nullptr;
  if (ASSAY_NO_MEMORY(!is_made)) {
    return fail(ErrorCode::kInternal, "OpenSSL makes no OCSP request");
  }
  static_cast<void>(id.release());  // the request owns it
  unsigned char* der = nullptr;
  const int length = i2d_OCSP_REQUEST(request.get(), &der);
  if (ASSAY_NO_MEMORY(length <= 0)) {
    return fail(ErrorCode::kInternal, "OpenSSL writes no OCSP request");
  }
  Bytes bytes(der, der + length);
  OPENSSL_free(der);
  return bytes;
}

}  // namespace assay::attestation::nvidia
