// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/azure_report.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "attestation/snp/report.h"
#include "schemas/core/json.h"
#include "schemas/core/sha.h"

namespace assay::attestation::snp {
namespace {

// Header: magic, version, bytes in use, kind of request, and zeros.
constexpr std::string_view kMagic = "HCLA";
constexpr std::size_t kReportOffset = 32;
// Then the runtime data: size with this header, version, kind of report, hash, bytes of JSON.
constexpr std::size_t kDataOffset = kReportOffset + kReportBytes;
constexpr std::size_t kDataHeader = 20;
constexpr std::size_t kJsonOffset = kDataOffset + kDataHeader;
constexpr std::size_t kMaxBytes = 16U << 10;  // 2600 today: an NV index of the TPM
constexpr std::uint32_t kSnpKind = 2;
constexpr std::uint32_t kSha256 = 1;

std::uint32_t u32(ByteView bytes, std::size_t offset) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) {
    value = (value << 8) | bytes[offset + i];
  }
  return value;
}

bool is_zero(ByteView bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

// The runtime data; empty when a length or a kind does not fit.
ByteView runtime_data_in(ByteView bytes) {
  if (bytes.size() < kJsonOffset || bytes.size() > kMaxBytes || !is_azure_report(bytes)) {
    return {};
  }
  const std::uint32_t version = u32(bytes, 4);
  const std::size_t size = u32(bytes, kDataOffset + 16);
  const bool fits = (version == 1 || version == 2) && u32(bytes, 12) == kSnpKind &&
                    is_zero(bytes.subspan(16, 16)) && u32(bytes, kDataOffset + 4) == 1 &&
                    u32(bytes, kDataOffset + 8) == kSnpKind &&
                    u32(bytes, kDataOffset + 12) == kSha256 && size <= bytes.size() - kJsonOffset &&
                    u32(bytes, kDataOffset) == size + kDataHeader &&
                    is_zero(bytes.subspan(kJsonOffset + size));
  return fits ? bytes.subspan(kJsonOffset, size) : ByteView();
}

}  // namespace

bool is_azure_report(ByteView bytes) {
  return bytes.size() >= kMagic.size() && std::ranges::equal(bytes.first(kMagic.size()), kMagic);
}

Result<AzureReport> parse_azure_report(ByteView bytes) {
  const ByteView data = runtime_data_in(bytes);
  const auto json = parse_json(data);
  const Json none;
  const Json& user_data =
      json && json->is_object() && json->contains("user-data") ? json->at("user-data") : none;
  const auto decoded =
      hex_decode(user_data.is_string() ? lower_case(user_data.get<std::string>()) : "");
  AzureReport found{.report = {}, .report_data = {}, .user_data = {}};
  if (!decoded || decoded->size() != found.user_data.size()) {
    return fail(ErrorCode::kInvalidEncoding,
                "this is not Azure's form of a SEV-SNP report: header, report, and runtime data "
                "with user-data");
  }
  found.report = bytes.subspan(kReportOffset, kReportBytes);
  const Digest digest = sha256(data);
  std::ranges::copy(digest.bytes(), found.report_data.begin());
  std::ranges::copy(*decoded, found.user_data.begin());
  return found;
}

}  // namespace assay::attestation::snp
