// SPDX-License-Identifier: Apache-2.0
// Certificates of a simulation of NVIDIA's, and OCSP answers about them. Keys are on P-384.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attestation/nvidia/ocsp.h"
#include "attestation/simulate/snp_key.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"

namespace assay::attestation::nvidia {

// The stored OCSP answer about a certificate: kGood, kHold, kRevoked or kUnknown.
struct SimulatedAnswer {
  CertificateState state = CertificateState::kGood;
  Timestamp this_update;
  Timestamp next_update;
};

struct SimulatedCertificate {
  std::string subject;  // common name
  std::string issuer;
  Bytes serial;  // big-endian
  Timestamp not_before;
  Timestamp not_after;
  bool is_ca = false;
  std::string key;                                          // label of its key
  std::string signer;                                       // label of the key that signs it
  std::vector<std::pair<std::string, Bytes>> extensions{};  // further ones: object id and content
  std::optional<SimulatedAnswer> answer{};                  // nothing: there is none
};

// Returns the key of this label. Keys are kept: making one takes as long as a signature.
[[nodiscard]] snp::SimulatedP384Key simulated_key(ByteView seed, const std::string& label);
// Returns the DER.
[[nodiscard]] Bytes make_certificate(const SimulatedCertificate& spec, ByteView seed);
// Returns the DER of the answer that a certificate has, signed by its issuer (RFC 6960).
[[nodiscard]] Bytes make_answer(const SimulatedCertificate& spec, const SimulatedAnswer& answer,
                                ByteView seed);

}  // namespace assay::attestation::nvidia
