// SPDX-License-Identifier: Apache-2.0
// P-256 keys of a simulation. Keys follow from a seed, and signatures follow from key and message,
// so that the same simulation always has the same bytes. These keys must not protect secrets.
#pragma once

#include <array>
#include <string_view>

#include "attestation/crypto/ecdsa_signature.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

class SimulatedKey {
 public:
  SimulatedKey(ByteView seed, std::string_view label);

  // Returns x || y.
  [[nodiscard]] const std::array<std::uint8_t, 64>& point() const { return point_; }
  // Returns the SubjectPublicKeyInfo DER.
  [[nodiscard]] Bytes spki() const;
  // Signs the SHA-256 of `message` and returns r || s.
  [[nodiscard]] RawSignature sign(ByteView message) const;
  // Does the same and returns DER.
  [[nodiscard]] Bytes sign_der(ByteView message) const;

 private:
  std::array<std::uint8_t, 32> scalar_{};
  std::array<std::uint8_t, 64> point_{};
};

}  // namespace assay::attestation::tdx
