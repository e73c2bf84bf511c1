// SPDX-License-Identifier: Apache-2.0
// TDX quotes of version 4 and 5 as fields. No signature is checked here. Layout: Intel "TDX DCAP
// Quoting Library API", appendix A.3 (version 4) and A.4 (version 5).
#pragma once

#include <array>
#include <cstdint>

#include "attestation/appraisal/report_data.h"
#include "attestation/tdx/error.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

// Real quotes are 5 to 8 KB with their padding.
inline constexpr std::size_t kMaxQuoteBytes = 32U << 10;

using Svns = std::array<std::uint8_t, 16>;
using Measurement = std::array<std::uint8_t, 48>;
using Bits64 = std::array<std::uint8_t, 8>;  // little-endian, as in the report
using appraisal::ReportData;

// Body types of version 5 quotes; a version 4 quote always holds a TD 1.0 report.
enum class BodyType : std::uint16_t { kTd10 = 2, kTd15 = 3, kTd15Ex = 4 };

// The TD report inside a quote.
struct TdReport {
  Svns tee_tcb_svn{};
  Measurement mrseam{};
  Measurement mrsignerseam{};
  Bits64 seamattributes{};
  Bits64 tdattributes{};
  Bits64 xfam{};
  Measurement mrtd{};
  Measurement mrconfigid{};
  Measurement mrowner{};
  Measurement mrownerconfig{};
  std::array<Measurement, 4> rtmr{};
  ReportData report_data{};
  // TD 1.5 and later: the module loaded at quote time, and the service TD bound to this TD. Zero
  // otherwise.
  Svns tee_tcb_svn2{};
  Measurement mrservicetd{};
  // TD 1.5 extended reports: the service TD at launch and at quote time. Zero otherwise.
  Measurement init_servicetd_hash{};
  Measurement current_servicetd_hash{};
};

// The quoting enclave's SGX report.
struct QeReport {
  std::array<std::uint8_t, 4> miscselect{};
  std::array<std::uint8_t, 16> attributes{};
  std::array<std::uint8_t, 32> mrsigner{};
  std::uint16_t isvprodid = 0;
  std::uint16_t isvsvn = 0;
  std::array<std::uint8_t, 64> report_data{};
};

// A parsed quote. Borrows from the bytes it was parsed from.
struct QuoteView {
  std::uint16_t version = 0;
  BodyType body_type = BodyType::kTd10;
  TdReport report;
  ByteView signed_part;          // header, descriptor (version 5), body
  ByteView signature;            // 64 bytes r || s, by the attestation key over signed_part
  ByteView attestation_key;      // 64 bytes x || y
  ByteView qe_report_bytes;      // 384 bytes
  QeReport qe_report;            // qe_report_bytes as fields
  ByteView qe_report_signature;  // 64 bytes r || s, by the PCK over qe_report_bytes
  ByteView qe_auth_data;
  ByteView pck_chain;  // PEM, sometimes followed by one NUL
};

// Returns true when the report names the module loaded at quote time (TEE_TCB_SVN2).
[[nodiscard]] inline bool has_second_svn(const QuoteView& quote) {
  return quote.body_type != BodyType::kTd10;
}

// Parses a quote. Errors: INPUT_TOO_LARGE and the structure group of errors.def.
[[nodiscard]] Checked<QuoteView> parse_quote(ByteView bytes);

}  // namespace assay::attestation::tdx
