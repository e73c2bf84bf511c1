// SPDX-License-Identifier: Apache-2.0
// P-256 keys of a simulation. They follow from a seed and signatures follow from key and message,
// so that the same simulation always has the same bytes. Not for anything that must stay secret.
#pragma once

#include <array>
#include <string_view>

#include "attestation/crypto/ecdsa_signature.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

class SimulatedKey {
 public:
  SimulatedKey(ByteView seed, std::string_view label);

  // x || y.
  [[nodiscard]] const std::array<std::uint8_t, 64>& point() const { return point_; }
  // SubjectPublicKeyInfo DER.
  [[nodiscard]] Bytes spki() const;
  // r || s over SHA-256 of `message`.
  [[nodiscard]] RawSignature sign(ByteView message) const;
  // The same as DER.
  [[nodiscard]] Bytes sign_der(ByteView message) const;

 private:
  std::array<std::uint8_t, 32> scalar_{};
  std::array<std::uint8_t, 64> point_{};
};

}  // namespace assay::attestation::tdx
