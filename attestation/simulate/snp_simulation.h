// SPDX-License-Identifier: Apache-2.0
// Makes SEV-SNP reports with their certificates and CRL in the real structure, under a throw-away
// PKI. The root of this PKI is not AMD's; in all else the reports look genuine. So a
// report is accepted only where that root is configured, and every result names the root.
//
// valid_snp_simulation() returns a specification of valid evidence. A caller who needs other
// evidence changes members of it. The same specification always gives the same bytes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attestation/snp/collateral.h"
#include "attestation/snp/generation.h"
#include "attestation/snp/report.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/digest.h"

namespace assay::attestation::snp {

// A certificate in the shape of AMD's. Keys of CAs are RSA, others are on P-384.
struct SimulatedCertificate {
  std::string subject;  // common name
  std::string issuer;
  std::uint64_t serial = 0;
  Timestamp not_before;
  Timestamp not_after;
  bool is_ca = false;
  std::uint8_t key_usage = 0;  // first byte of the extension; 0: absent
  std::string key;             // label of its key
  std::string signer;          // label of the RSA key that signs it
  HashAlgorithm hash = HashAlgorithm::kSha384;
  std::vector<std::pair<std::string, Bytes>> extensions;  // further ones: object id and content
};

struct SimulatedCrl {
  std::string issuer;
  Timestamp this_update;
  Timestamp next_update;
  std::vector<std::uint64_t> revoked;  // serials
  std::string signer;
};

struct SnpSimulationSpec {
  Bytes seed;
  Generation generation = Generation::kMilan;
  Report report;
  std::string report_signer;
  SimulatedCertificate root;
  SimulatedCertificate ca;
  SimulatedCertificate leaf;  // AMD's extensions are made of the members below
  Tcb leaf_tcb;
  Bytes leaf_chip_id;         // of a VCEK
  std::string leaf_provider;  // of a VLEK
  SimulatedCrl crl;
};

// Returns a valid specification: a report of version 5 by a VCEK or VLEK. Its CRL was issued a day
// before `now` and is valid until 29 days after `now`. The PKI follows from `seed` and generation,
// so that its root can be configured once.
[[nodiscard]] SnpSimulationSpec valid_snp_simulation(ByteView seed, Timestamp now,
                                                     Generation generation = Generation::kMilan,
                                                     SigningKey kind = SigningKey::kVcek);

struct SnpSimulation {
  Bytes evidence;  // report and certificate table
  Collateral collateral;
  Bytes root;  // DER: the anchor to configure
};
[[nodiscard]] SnpSimulation simulate(const SnpSimulationSpec& spec);

// Writes a report and signs it with the key of this label.
[[nodiscard]] Bytes make_report(const Report& report, ByteView seed, std::string_view signer);

}  // namespace assay::attestation::snp
