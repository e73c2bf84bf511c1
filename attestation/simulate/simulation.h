// SPDX-License-Identifier: Apache-2.0
// Makes TDX quotes and their collateral (collateral.h in ../tdx) in the real structure, under a
// throw-away PKI. The root of this PKI is not Intel's; in all else the quotes look genuine. They
// are therefore accepted only where that root is configured, and every result names the root.
//
// valid_simulation() returns a specification of valid evidence. A caller who needs other evidence,
// such as invalid evidence, changes members of this specification. The same specification always
// gives the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attestation/simulate/event_log.h"
#include "attestation/simulate/pki.h"
#include "attestation/tdx/collateral.h"
#include "attestation/tdx/pck_extension.h"
#include "attestation/tdx/quote_parse.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/json.h"

namespace assay::attestation::tdx {

// Labels of the keys of a valid simulation. Any other label can be used too and names a further
// key.
inline constexpr std::string_view kRootKey = "root";
inline constexpr std::string_view kPckCaKey = "pck-ca";
inline constexpr std::string_view kPckKey = "pck";
inline constexpr std::string_view kTcbSigningKey = "tcb-signing";
inline constexpr std::string_view kAttestationKey = "attestation";

// The quote and the keys that sign its parts.
struct QuoteSpec {
  std::uint16_t version = 4;
  BodyType body_type = BodyType::kTd10;  // kTd10 unless version is 5
  TdReport report;
  QeReport qe;                               // its report data is computed
  std::optional<ReportData> qe_report_data;  // replaces the computed report data
  Bytes qe_auth_data;
  std::array<std::uint8_t, 20> user_data{};
  std::string attestation_key{kAttestationKey};                   // the key in the quote
  std::optional<std::array<std::uint8_t, 64>> attestation_point;  // replaces that key
  std::string quote_signer{kAttestationKey};
  std::string qe_report_signer{kPckKey};
  bool nul_behind_chain = true;
  std::size_t padding = 0;  // zero bytes after the signature data
};

struct SimulationSpec {
  Bytes seed;
  CertificateSpec root;
  CertificateSpec pck_ca;
  CertificateSpec pck;  // an empty sgx_extension is replaced by one made from `platform`
  CertificateSpec tcb_signing;
  std::optional<CertificateSpec> qe_identity_signing;  // absent: tcb_signing
  PckExtension platform;
  CrlSpec root_crl;
  CrlSpec pck_crl;
  Json tcb_info;
  Json qe_identity;
  std::string tcb_info_signer{kTcbSigningKey};
  std::string qe_identity_signer{kTcbSigningKey};
  QuoteSpec quote;
  std::vector<EventSpec> event_log;  // its replay is RTMR0 to RTMR3 of a valid quote
};

// Returns a valid specification. Its collateral was issued a day before `now` and is valid until 29
// days after `now`. The PKI follows from `seed` alone, so that its root can be configured once.
[[nodiscard]] SimulationSpec valid_simulation(ByteView seed, Timestamp now);
// Does the same with a version 5 quote of a TD 1.5.
[[nodiscard]] SimulationSpec valid_simulation_v5(ByteView seed, Timestamp now);

struct Simulation {
  Bytes quote;
  Bytes event_log;
  Collateral collateral;
  Bytes root;  // DER: the anchor to configure
};
[[nodiscard]] Simulation simulate(const SimulationSpec& spec);

// Make parts of a simulation, for callers that assemble quotes by hand.
[[nodiscard]] Bytes make_quote(const QuoteSpec& spec, ByteView seed, std::string_view pck_chain);
[[nodiscard]] std::string make_pck_chain(const SimulationSpec& spec);

// Make one entry of `tcbLevels`: make_platform_level() for TCB info, make_component_level() for
// module and enclave identities.
[[nodiscard]] Json make_platform_level(const Svns& sgx, std::uint16_t pcesvn, const Svns& tdx,
                                       std::string_view status);
[[nodiscard]] Json make_component_level(std::uint16_t isvsvn, std::string_view status);

}  // namespace assay::attestation::tdx
