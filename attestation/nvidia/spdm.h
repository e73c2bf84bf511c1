// SPDX-License-Identifier: Apache-2.0
// The report of a device: a GET_MEASUREMENTS request and its MEASUREMENTS response (DMTF DSP0274,
// SPDM 1.1, sections 10.11 to 10.12), and the opaque fields that NVIDIA puts into it.
// Little-endian. Nothing here is believed before verify.h has verified the signature.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "attestation/nvidia/error.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::nvidia {

inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kSignatureBytes = 96;    // ECDSA P-384: r and s, 48 bytes each
inline constexpr std::size_t kMaxReportBytes = 8192;  // as NVML gives it at most
inline constexpr std::size_t kMaxMeasurementBytes = 64;

using Nonce = std::array<std::uint8_t, kNonceBytes>;

// Types of opaque fields that are read here. Others are kept and mean nothing.
enum class OpaqueType : std::uint16_t {
  kDriverVersion = 3,
  kVbiosVersion = 6,
  kNvdec0Status = 11,
  kChipSku = 15,
  kProject = 17,
  kProjectSku = 18,
  kFwid = 20,
  kProtectedPcie = 21,
  kPdi = 22,  // a switch: its own identity; a GPU: that of the switch at each link
  kGpuPdis = 26,
  kDataVersion = 34,
  kChipInfo = 35,
  kFeatureFlag = 36,
};

// A parsed report. Borrows from the bytes that were parsed.
struct ReportView {
  Nonce nonce{};  // of the request; the response has one of its own, which proves nothing
  // Measurements by index, which counts from 0 as RIMs do (SPDM's index less one), in that order.
  std::vector<std::pair<std::uint8_t, ByteView>> measurements;
  std::vector<std::pair<std::uint16_t, ByteView>> opaque;  // by type, in the order of the report
  ByteView signed_bytes;                                   // request and response, unsigned part
  ByteView signature;                                      // kSignatureBytes

  // Returns the content of a field; nullopt when it is absent.
  [[nodiscard]] std::optional<ByteView> field(OpaqueType type) const;
  // Returns the value with this index, which counts from 0; nullopt when it is absent.
  [[nodiscard]] std::optional<ByteView> measurement(std::uint8_t index) const;
};

// Parses one report that fills all of `bytes`. Errors: INPUT_TOO_LARGE, REPORT_TRUNCATED,
// REPORT_TRAILING, REQUEST_FORMAT, RESPONSE_FORMAT, MEASUREMENT_FORMAT; those of parse_opaque().
[[nodiscard]] Checked<ReportView> parse_report(ByteView bytes);

// Parses a list of type, size and data. Errors: OPAQUE_FORMAT, OPAQUE_DOUBLED.
[[nodiscard]] Checked<std::vector<std::pair<std::uint16_t, ByteView>>> parse_opaque(ByteView bytes);

}  // namespace assay::attestation::nvidia
