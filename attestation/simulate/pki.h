// SPDX-License-Identifier: Apache-2.0
// Certificates and CRLs of a simulation, in the shape of Intel's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attestation/simulate/key.h"
#include "attestation/tdx/pck_extension.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"

namespace assay::attestation::tdx {

// Values of the first byte of the key usage extension.
inline constexpr std::uint8_t kUsageSigning = 0xc0;  // digitalSignature, nonRepudiation
inline constexpr std::uint8_t kUsageCa = 0x06;       // keyCertSign, cRLSign

struct CertificateSpec {
  std::string subject;  // common name
  std::string issuer;
  std::uint64_t serial = 1;
  Timestamp not_before;
  Timestamp not_after;
  bool is_ca = false;
  std::optional<std::uint8_t> path_length;
  std::uint8_t key_usage = kUsageSigning;
  std::string key;      // label of its key
  std::string signer;   // label of the key that signs it
  Bytes other_spki;     // not empty: replaces the public key
  Bytes sgx_extension;  // not empty: value of 1.2.840.113741.1.13.1
};

struct CrlSpec {
  std::string issuer;
  Timestamp this_update;
  std::optional<Timestamp> next_update;
  std::vector<std::uint64_t> revoked;  // serials
  std::string signer;
  bool is_partial = false;  // adds an issuing distribution point
};

[[nodiscard]] Bytes make_certificate(const CertificateSpec& spec, ByteView seed);
[[nodiscard]] Bytes make_crl(const CrlSpec& spec, ByteView seed);
[[nodiscard]] Bytes make_sgx_extension(const PckExtension& extension);
[[nodiscard]] std::string to_pem(ByteView certificate);
// Returns a public key on P-384, which no certificate of these chains may have.
[[nodiscard]] Bytes p384_spki();

}  // namespace assay::attestation::tdx
