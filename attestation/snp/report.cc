// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/report.h"

#include <algorithm>

namespace assay::attestation::snp {
namespace {

constexpr std::uint32_t kOldestVersion = 2;
constexpr std::uint32_t kNewestVersion = 5;
constexpr std::uint32_t kVersionWithCpu = 3;
constexpr std::uint32_t kVersionWithMitigations = 5;
constexpr std::uint32_t kEcdsaP384 = 1;

constexpr std::uint32_t kAuthorKey = 1U << 0;
constexpr std::uint32_t kMaskChipKey = 1U << 1;
constexpr std::uint32_t kDefinedFlags = 0x1f;
constexpr unsigned kSigningKeyShift = 2;

// Each number of the signature: 48 bytes, least significant first, in a field of 72.
constexpr std::size_t kNumberBytes = 48;
constexpr std::size_t kNumberField = 72;
constexpr std::size_t kR = kSignedBytes;
constexpr std::size_t kS = kR + kNumberField;
constexpr std::size_t kAfterS = kS + kNumberField;

// Fields of a report whose length was checked.
class Fields {
 public:
  explicit Fields(ByteView report) : report_(report) {}

  [[nodiscard]] ByteView bytes(std::size_t offset, std::size_t size) const {
    return report_.subspan(offset, size);
  }
  template <std::size_t N>
  void read(std::size_t offset, std::array<std::uint8_t, N>& out) const {
    std::ranges::copy(bytes(offset, N), out.begin());
  }
  [[nodiscard]] std::uint64_t number(std::size_t offset, std::size_t size) const {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) {
      value = (value << 8) | report_[offset + i];
    }
    return value;
  }
  [[nodiscard]] std::uint32_t u32(std::size_t offset) const {
    return static_cast<std::uint32_t>(number(offset, 4));
  }
  [[nodiscard]] std::uint64_t u64(std::size_t offset) const { return number(offset, 8); }
  [[nodiscard]] bool is_zero(std::size_t begin, std::size_t end) const {
    return std::ranges::all_of(bytes(begin, end - begin), [](std::uint8_t b) { return b == 0; });
  }
  // Bytes build, minor, major.
  [[nodiscard]] Firmware firmware(std::size_t offset) const {
    return {report_[offset + 2], report_[offset + 1], report_[offset]};
  }

 private:
  ByteView report_;
};

Outcome check_reserved(const Fields& fields, std::uint32_t version) {
  const std::size_t cpu_end = version >= kVersionWithCpu ? 0x18b : 0x188;
  const std::size_t last = version >= kVersionWithMitigations ? 0x208 : 0x1f8;
  const bool zero = (fields.u32(0x48) & ~kDefinedFlags) == 0 && fields.is_zero(0x4c, 0x50) &&
                    fields.is_zero(cpu_end, 0x1a0) && fields.is_zero(0x1eb, 0x1ec) &&
                    fields.is_zero(0x1ef, 0x1f0) && fields.is_zero(last, kSignedBytes);
  return zero ? Outcome() : reject(SnpError::kReportReservedNonzero, "zero");
}

Outcome read_signature(const Fields& fields, Report& report) {
  if (!fields.is_zero(kR + kNumberBytes, kS) || !fields.is_zero(kS + kNumberBytes, kAfterS) ||
      !fields.is_zero(kAfterS, kReportBytes)) {
    return reject(SnpError::kSignatureFormat, "numbers of 48 bytes, and zero behind them");
  }
  auto out = report.signature.begin();
  for (const std::size_t offset : {kR, kS}) {
    const ByteView number = fields.bytes(offset, kNumberBytes);
    out = std::reverse_copy(number.begin(), number.end(), out);
  }
  return {};
}

Outcome read_flags(std::uint32_t flags, Report& report) {
  report.has_author_key = (flags & kAuthorKey) != 0;
  report.masks_chip_key = (flags & kMaskChipKey) != 0;
  const std::uint32_t key = (flags & kDefinedFlags) >> kSigningKeyShift;
  if (key > 1) {
    return reject(SnpError::kSigningKeyUnsupported, "0 (VCEK) or 1 (VLEK)", std::to_string(key));
  }
  report.signing_key = key == 0 ? SigningKey::kVcek : SigningKey::kVlek;
  return {};
}

void read_guest(const Fields& fields, Report& report) {
  report.guest_svn = fields.u32(0x04);
  report.policy = fields.u64(0x08);
  fields.read(0x10, report.family_id);
  fields.read(0x20, report.image_id);
  report.vmpl = fields.u32(0x30);
  fields.read(0x50, report.report_data);
  fields.read(0x90, report.measurement);
  fields.read(0xc0, report.host_data);
  fields.read(0xe0, report.id_key_digest);
  fields.read(0x110, report.author_key_digest);
  fields.read(0x140, report.report_id);
  fields.read(0x160, report.report_id_ma);
}

void read_machine(const Fields& fields, Report& report) {
  fields.read(0x38, report.current_tcb);
  report.platform_info = fields.u64(0x40);
  fields.read(0x180, report.reported_tcb);
  if (report.version >= kVersionWithCpu) {
    const ByteView cpu = fields.bytes(0x188, 3);
    report.cpu = Cpu{cpu[0], cpu[1], cpu[2]};
  }
  fields.read(0x1a0, report.chip_id);
  fields.read(0x1e0, report.committed_tcb);
  report.current = fields.firmware(0x1e8);
  report.committed = fields.firmware(0x1ec);
  fields.read(0x1f0, report.launch_tcb);
  if (report.version >= kVersionWithMitigations) {
    report.launch_mitigations = fields.u64(0x1f8);
    report.current_mitigations = fields.u64(0x200);
  }
}

}  // namespace

std::string_view name(SigningKey key) { return key == SigningKey::kVcek ? "vcek" : "vlek"; }

Checked<Report> parse_report(ByteView bytes) {
  if (bytes.size() != kReportBytes) {
    return reject(SnpError::kReportTruncated, std::to_string(kReportBytes) + " bytes",
                  std::to_string(bytes.size()) + " bytes");
  }
  const Fields fields(bytes);
  Report report;
  report.version = fields.u32(0);
  if (report.version < kOldestVersion || report.version > kNewestVersion) {
    return reject(SnpError::kReportVersionUnsupported, "2 to 5", std::to_string(report.version));
  }
  if (const std::uint32_t algorithm = fields.u32(0x34); algorithm != kEcdsaP384) {
    return reject(SnpError::kSignatureAlgoUnsupported, std::to_string(kEcdsaP384),
                  std::to_string(algorithm));
  }
  for (const Outcome& outcome :
       {check_reserved(fields, report.version), read_flags(fields.u32(0x48), report),
        read_signature(fields, report)}) {
    if (!outcome) {
      return std::unexpected(outcome.error());
    }
  }
  read_guest(fields, report);
  read_machine(fields, report);
  return report;
}

}  // namespace assay::attestation::snp
