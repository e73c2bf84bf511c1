// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/trust_anchor.h"

#include <cstdlib>

#include <openssl/x509v3.h>

#include "attestation/crypto/no_memory.h"
#include "attestation/tdx/certificate.h"
#include "attestation/tdx/ecdsa.h"
#include "schemas/core/sha.h"

namespace assay::attestation::tdx {
namespace {

constexpr std::string_view kIntelRootDigest =
    "sha256:44a0196b2b99f889b8e149e95b807a350e7424964399e885a7cbb8ccfab674d3";

// As published by Intel's provisioning certification service.
constexpr std::string_view kIntelRootPem = R"(-----BEGIN CERTIFICATE-----
MIICjzCCAjSgAwIBAgIUImUM1lqdNInzg7SVUr9QGzknBqwwCgYIKoZIzj0EAwIw
aDEaMBgGA1UEAwwRSW50ZWwgU0dYIFJvb3QgQ0ExGjAYBgNVBAoMEUludGVsIENv
cnBvcmF0aW9uMRQwEgYDVQQHDAtTYW50YSBDbGFyYTELMAkGA1UECAwCQ0ExCzAJ
BgNVBAYTAlVTMB4XDTE4MDUyMTEwNDUxMFoXDTQ5MTIzMTIzNTk1OVowaDEaMBgG
A1UEAwwRSW50ZWwgU0dYIFJvb3QgQ0ExGjAYBgNVBAoMEUludGVsIENvcnBvcmF0
aW9uMRQwEgYDVQQHDAtTYW50YSBDbGFyYTELMAkGA1UECAwCQ0ExCzAJBgNVBAYT
AlVTMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEC6nEwMDIYZOj/iPWsCzaEKi7
1OiOSLRFhWGjbnBVJfVnkY4u3IjkDYYL0MxO4mqsyYjlBalTVYxFP2sJBK5zlKOB
uzCBuDAfBgNVHSMEGDAWgBQiZQzWWp00ifODtJVSv1AbOScGrDBSBgNVHR8ESzBJ
MEegRaBDhkFodHRwczovL2NlcnRpZmljYXRlcy50cnVzdGVkc2VydmljZXMuaW50
ZWwuY29tL0ludGVsU0dYUm9vdENBLmRlcjAdBgNVHQ4EFgQUImUM1lqdNInzg7SV
Ur9QGzknBqwwDgYDVR0PAQH/BAQDAgEGMBIGA1UdEwEB/wQIMAYBAf8CAQEwCgYI
KoZIzj0EAwIDSQAwRgIhAOW/5QkR+S9CiSDcNoowLuPRLsWGf/Yi7GSX94BgwTwg
AiEA4J0lrHoMs+Xo5o/sX6O9QWxHRAvZUGOdRQ7cvqRXaqI=
-----END CERTIFICATE-----
)";

}  // namespace

Result<TrustAnchor> TrustAnchor::from_der(ByteView der) {
  const ErrorQueueGuard guard;
  auto certificate = parse_certificate(der);
  if (certificate == nullptr) {
    return fail(ErrorCode::kInvalidEncoding,
                "a trust anchor is one X.509 certificate of version 3");
  }
  const unsigned char* next = der.data();
  const X509Handle x509(d2i_X509(nullptr, &next, static_cast<long>(der.size())));
  if (ASSAY_NO_MEMORY(x509 == nullptr)) {  // it was parsed above
    return fail(ErrorCode::kInternal, "no memory for a trust anchor");
  }
  if (!is_p256(certificate->key()) || X509_check_ca(x509.get()) != 1 ||
      X509_verify(x509.get(), certificate->key()) != 1) {
    return fail(ErrorCode::kUnsupportedKey,
                "a trust anchor is a self-signed CA certificate with a P-256 key");
  }
  const Digest digest = sha256(certificate->der);
  return TrustAnchor(std::move(certificate), digest);
}

Result<TrustAnchor> TrustAnchor::from_pem(std::string_view pem) {
  const auto chain = split_pem_chain(pem);
  if (!chain || chain->size() != 1) {
    return fail(ErrorCode::kInvalidEncoding, "a trust anchor is one PEM block CERTIFICATE");
  }
  return from_der(chain->front());
}

Result<TrustAnchor> TrustAnchor::from_bytes(ByteView bytes) {
  const std::string_view text = as_text(bytes);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && text.substr(start).starts_with("-----BEGIN")
             ? from_pem(text)
             : from_der(bytes);
}

const Bytes& TrustAnchor::der() const { return certificate_->der; }

bool TrustAnchor::is_intel() const { return digest_.text() == kIntelRootDigest; }

const TrustAnchor& intel_root() {
  static const TrustAnchor anchor = [] {
    auto parsed = TrustAnchor::from_pem(kIntelRootPem);
    if (!parsed || !parsed->is_intel()) {
      std::abort();  // the constant above is damaged: nothing could be trusted
    }
    return std::move(*parsed);
  }();
  return anchor;
}

}  // namespace assay::attestation::tdx
