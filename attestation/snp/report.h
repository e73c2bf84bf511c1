// SPDX-License-Identifier: Apache-2.0
// ATTESTATION_REPORT: what the security processor signs for a guest. Parsing does not verify
// anything.
// Source: AMD 56860 "SEV Secure Nested Paging Firmware ABI", section "Attestation Report", as of
// versions 2 to 5 of the report.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "attestation/appraisal/report_data.h"
#include "attestation/snp/error.h"
#include "attestation/snp/generation.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::snp {

inline constexpr std::size_t kReportBytes = 0x4a0;
inline constexpr std::size_t kSignedBytes = 0x2a0;
// A report with its certificate table: real tables have three certificates in 16 KiB.
inline constexpr std::size_t kMaxEvidenceBytes = 64U << 10;

using appraisal::ReportData;
using Sha384Value = std::array<std::uint8_t, 48>;
using ChipId = std::array<std::uint8_t, 64>;

enum class SigningKey : std::uint8_t { kVcek, kVlek };
// Returns "vcek" or "vlek".
[[nodiscard]] std::string_view name(SigningKey key);

// Bits of POLICY, which the guest's owner chose at launch.
namespace guest_policy {
inline constexpr std::uint64_t kSmt = 1ULL << 16;
inline constexpr std::uint64_t kAlwaysSet = 1ULL << 17;
inline constexpr std::uint64_t kMigrateMa = 1ULL << 18;
inline constexpr std::uint64_t kDebug = 1ULL << 19;
inline constexpr std::uint64_t kSingleSocket = 1ULL << 20;
inline constexpr std::uint64_t kCxlAllow = 1ULL << 21;
inline constexpr std::uint64_t kMemAes256Xts = 1ULL << 22;
inline constexpr std::uint64_t kRaplDisabled = 1ULL << 23;
inline constexpr std::uint64_t kCiphertextHiding = 1ULL << 24;
inline constexpr std::uint64_t kPageSwapDisabled = 1ULL << 25;
inline constexpr std::uint64_t kDefined = (1ULL << 26) - 1;
}  // namespace guest_policy

// Bits of PLATFORM_INFO: how the machine is configured.
namespace platform_info {
inline constexpr std::uint64_t kSmt = 1ULL << 0;
inline constexpr std::uint64_t kTsme = 1ULL << 1;
inline constexpr std::uint64_t kEcc = 1ULL << 2;
inline constexpr std::uint64_t kRaplDisabled = 1ULL << 3;
inline constexpr std::uint64_t kCiphertextHiding = 1ULL << 4;
inline constexpr std::uint64_t kAliasCheck = 1ULL << 5;
inline constexpr std::uint64_t kTrustedIo = 1ULL << 7;
}  // namespace platform_info

struct Firmware {
  std::uint8_t major = 0;
  std::uint8_t minor = 0;
  std::uint8_t build = 0;
  bool operator==(const Firmware&) const = default;
};

struct Cpu {
  std::uint8_t family = 0;
  std::uint8_t model = 0;
  std::uint8_t stepping = 0;
  bool operator==(const Cpu&) const = default;
};

struct Report {
  std::uint32_t version = 0;
  std::uint32_t guest_svn = 0;
  std::uint64_t policy = 0;
  std::array<std::uint8_t, 16> family_id{};
  std::array<std::uint8_t, 16> image_id{};
  std::uint32_t vmpl = 0;
  RawTcb current_tcb{};
  std::uint64_t platform_info = 0;
  SigningKey signing_key = SigningKey::kVcek;
  bool has_author_key = false;
  bool masks_chip_key = false;
  ReportData report_data{};
  Sha384Value measurement{};
  std::array<std::uint8_t, 32> host_data{};
  Sha384Value id_key_digest{};
  Sha384Value author_key_digest{};
  std::array<std::uint8_t, 32> report_id{};
  std::array<std::uint8_t, 32> report_id_ma{};
  RawTcb reported_tcb{};
  std::optional<Cpu> cpu;  // from version 3 on
  ChipId chip_id{};        // zero: the host hides it
  RawTcb committed_tcb{};
  Firmware current;
  Firmware committed;
  RawTcb launch_tcb{};
  std::optional<std::uint64_t> launch_mitigations;  // from version 5 on
  std::optional<std::uint64_t> current_mitigations;
  std::array<std::uint8_t, 96> signature{};  // r || s, most significant byte first
};

// Parses exactly one report. Refuses reserved bytes and padding that are not zero. Errors: those of
// the group "Report" in errors.def.
[[nodiscard]] Checked<Report> parse_report(ByteView bytes);

}  // namespace assay::attestation::snp
