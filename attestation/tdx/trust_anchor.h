// SPDX-License-Identifier: Apache-2.0
// A trust anchor: the configured root certificate. The root in a quote or in collateral is accepted
// only when it equals the configured root byte for byte, because Intel's sandbox and sample roots
// have the same name as its production root.
#pragma once

#include <memory>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::attestation::tdx {

struct Certificate;

class TrustAnchor {
 public:
  // Parses one self-signed P-256 CA certificate in DER or in PEM. Errors: invalid-encoding,
  // unsupported-key.
  [[nodiscard]] static Result<TrustAnchor> from_der(ByteView der);
  [[nodiscard]] static Result<TrustAnchor> from_pem(std::string_view pem);
  // Parses either form.
  [[nodiscard]] static Result<TrustAnchor> from_bytes(ByteView bytes);

  // Returns the SHA-256 of the DER certificate. Verdicts and policies name an anchor by this
  // digest.
  [[nodiscard]] const Digest& digest() const { return digest_; }
  // Returns the certificate in DER.
  [[nodiscard]] const Bytes& der() const;
  // Returns true only for Intel's production root.
  [[nodiscard]] bool is_intel() const;
  // Returns the parsed certificate, for this folder only.
  [[nodiscard]] const std::shared_ptr<const Certificate>& certificate() const {
    return certificate_;
  }

 private:
  TrustAnchor(std::shared_ptr<const Certificate> certificate, Digest digest)
      : certificate_(std::move(certificate)), digest_(digest) {}

  std::shared_ptr<const Certificate> certificate_;
  Digest digest_;
};

// Returns Intel's production root "Intel SGX Root CA", valid 2018-05-21 to 2049-12-31.
[[nodiscard]] const TrustAnchor& intel_root();

}  // namespace assay::attestation::tdx
