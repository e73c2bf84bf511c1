// SPDX-License-Identifier: Apache-2.0
// Keys of a simulation of AMD's: RSA-4096 of the CAs, P-384 of chips. Keys follow from a seed, and
// signatures follow from key and message, so that the same simulation always has the same bytes.
// These keys must not protect secrets. An RSA modulus here has eight primes, which are found in
// milliseconds; verifiers do not see the difference.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"

namespace assay::attestation::snp {

class SimulatedRsaKey {
 public:
  SimulatedRsaKey(ByteView seed, std::string_view label);

  // Returns the SubjectPublicKeyInfo DER.
  [[nodiscard]] Bytes spki() const;
  // Signs with RSASSA-PSS, MGF1 and a salt as long as the hash (RFC 8017 section 8.1).
  [[nodiscard]] Bytes sign(ByteView message, HashAlgorithm hash) const;

 private:
  std::vector<Bytes> primes_;
  Bytes modulus_;
};

class SimulatedP384Key {
 public:
  SimulatedP384Key(ByteView seed, std::string_view label);

  [[nodiscard]] Bytes spki() const;
  // Signs the SHA-384 of `message` and returns r || s, most significant byte first.
  [[nodiscard]] std::array<std::uint8_t, 96> sign(ByteView message) const;

 private:
  std::array<std::uint8_t, 48> scalar_{};
  std::array<std::uint8_t, 96> point_{};
};

}  // namespace assay::attestation::snp
