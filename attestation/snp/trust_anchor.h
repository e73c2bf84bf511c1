// SPDX-License-Identifier: Apache-2.0
// A trust anchor: the configured root certificate (ARK) of one generation. A root in evidence is
// accepted only when it equals a configured one byte for byte, because a simulator's root has the
// name of AMD's.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "attestation/snp/generation.h"
#include "attestation/x509/certificate.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::attestation::snp {

class TrustAnchor {
 public:
  // Parses one self-signed CA certificate with an RSA-4096 key, RSASSA-PSS with SHA-384, and the
  // common name ARK-Milan, ARK-Genoa or ARK-Turin, in DER or in PEM. Errors: those of
  // x509::parse_certificates(); invalid-encoding for several certificates; unsupported-key.
  [[nodiscard]] static Result<TrustAnchor> from_bytes(ByteView bytes);

  [[nodiscard]] Generation generation() const { return generation_; }
  // Returns the SHA-256 of the DER certificate. Verdicts and policies name an anchor by it.
  [[nodiscard]] const Digest& digest() const { return certificate_.digest(); }
  [[nodiscard]] const x509::Certificate& certificate() const { return certificate_; }
  // Returns true only for AMD's production roots.
  [[nodiscard]] bool is_amd() const;

 private:
  TrustAnchor(x509::Certificate certificate, Generation generation)
      : certificate_(std::move(certificate)), generation_(generation) {}

  x509::Certificate certificate_;
  Generation generation_;
};

// Returns AMD's production root of a generation, and the CAs that AMD publishes below it: the
// issuer of VCEKs and the issuer of VLEKs.
[[nodiscard]] const TrustAnchor& amd_root(Generation generation);
[[nodiscard]] const std::vector<x509::Certificate>& amd_issuers(Generation generation);

}  // namespace assay::attestation::snp
