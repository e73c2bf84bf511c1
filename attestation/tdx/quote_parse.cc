// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/quote_parse.h"

#include <algorithm>
#include <optional>

#include "attestation/tdx/cursor.h"

namespace assay::attestation::tdx {
namespace {

constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kDescriptorBytes = 6;
constexpr std::size_t kTd10Bytes = 584;
constexpr std::size_t kTd15Bytes = 648;
constexpr std::size_t kTd15ExBytes = 885;
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kKeyBytes = 64;
constexpr std::size_t kQeReportBytes = 384;
constexpr std::uint16_t kKeyTypeEcdsaP256 = 2;
constexpr std::uint32_t kTeeSgx = 0;
constexpr std::uint32_t kTeeTdx = 0x81;
constexpr std::uint16_t kCertDataQeReport = 6;
constexpr std::uint16_t kCertDataPemChain = 5;
// Signature, key, outer certification header, QE report, its signature, size of the QE
// authentication data, inner certification header.
constexpr std::size_t kMinSignatureData =
    kSignatureBytes + kKeyBytes + 6 + kQeReportBytes + kSignatureBytes + 2 + 6;

// Vendor id of Intel's quoting enclave.
constexpr std::array<std::uint8_t, 16> kIntelQe = {0x93, 0x9a, 0x72, 0x33, 0xf7, 0x9c, 0x4c, 0xa9,
                                                   0x94, 0x0a, 0x0d, 0xb3, 0x95, 0x7f, 0x06, 0x07};

std::string decimal(std::uint64_t value) { return std::to_string(value); }

std::unexpected<Failure> truncated(std::size_t expected, std::size_t actual) {
  return reject(TdxError::kQuoteTruncated, "at least " + decimal(expected) + " bytes",
                decimal(actual) + " bytes");
}

// Header, 48 bytes: version 2, attestation key type 2, TEE type 4, reserved 4, QE vendor 16,
// user data 20 (free, signed).
Checked<std::uint16_t> read_header(Cursor& cursor) {
  const std::size_t size = cursor.remaining();
  const auto bytes = cursor.take(kHeaderBytes);
  if (!bytes) {
    return truncated(kHeaderBytes, size);
  }
  Cursor header(*bytes);
  const std::uint16_t version = *header.u16();
  const std::uint16_t key_type = *header.u16();
  const std::uint32_t tee_type = *header.u32();
  const std::uint32_t reserved = *header.u32();
  const ByteView vendor = *header.take(kIntelQe.size());
  if (version == 3 && tee_type == kTeeSgx) {
    return reject(TdxError::kTeeTypeUnsupported, "129 (TDX)", "0 (SGX)");
  }
  if (version != 4 && version != 5) {
    return reject(TdxError::kQuoteVersionUnsupported, "4 or 5", decimal(version));
  }
  if (key_type != kKeyTypeEcdsaP256) {
    return reject(TdxError::kAttKeyTypeUnsupported, decimal(kKeyTypeEcdsaP256), decimal(key_type));
  }
  if (tee_type != kTeeTdx) {
    return reject(TdxError::kTeeTypeUnsupported, "129 (TDX)", decimal(tee_type));
  }
  if (reserved != 0) {
    return reject(TdxError::kHeaderReservedNonzero, "0", decimal(reserved));
  }
  if (!std::ranges::equal(vendor, kIntelQe)) {
    return reject(TdxError::kQeVendorUnknown, hex_encode(kIntelQe), hex_encode(vendor));
  }
  return version;
}

std::optional<std::size_t> body_size(std::uint16_t type) {
  switch (type) {
    case std::to_underlying(BodyType::kTd10):
      return kTd10Bytes;
    case std::to_underlying(BodyType::kTd15):
      return kTd15Bytes;
    case std::to_underlying(BodyType::kTd15Ex):
      return kTd15ExBytes;
    default:
      return std::nullopt;
  }
}

// Descriptor of version 5, 6 bytes: type 2, size 4.
Checked<BodyType> read_descriptor(Cursor& cursor, std::size_t quote_size) {
  const auto type = cursor.u16();
  const auto size = cursor.u32();
  if (!type || !size) {
    return truncated(kHeaderBytes + kDescriptorBytes, quote_size);
  }
  const auto expected = body_size(*type);
  if (!expected) {
    return reject(TdxError::kBodyTypeUnsupported, "2, 3 or 4", decimal(*type));
  }
  if (*size != *expected) {
    return reject(TdxError::kBodySizeMismatch, decimal(*expected), decimal(*size));
  }
  return static_cast<BodyType>(*type);
}

// The caller has checked the size of `body` against `type`.
bool read_report(ByteView body, BodyType type, TdReport& out) {
  Cursor cursor(body);
  bool ok = cursor.copy(out.tee_tcb_svn) && cursor.copy(out.mrseam) &&
            cursor.copy(out.mrsignerseam) && cursor.copy(out.seamattributes) &&
            cursor.copy(out.tdattributes) && cursor.copy(out.xfam) && cursor.copy(out.mrtd) &&
            cursor.copy(out.mrconfigid) && cursor.copy(out.mrowner) &&
            cursor.copy(out.mrownerconfig);
  for (Measurement& rtmr : out.rtmr) {
    ok = ok && cursor.copy(rtmr);
  }
  ok = ok && cursor.copy(out.report_data);
  if (type != BodyType::kTd10) {
    ok = ok && cursor.copy(out.tee_tcb_svn2) && cursor.copy(out.mrservicetd);
  }
  if (type == BodyType::kTd15Ex) {
    // vmid 1, td_id 32, devinfo 48; then the launch-time service TD; attributes 8, cpusvn 16,
    // tee_tcb_svn 16, fmspc 12; then the current service TD and its attributes 8.
    ok = ok && cursor.take(1 + 32 + 48) && cursor.copy(out.init_servicetd_hash) &&
         cursor.take(8 + 16 + 16 + 12) && cursor.copy(out.current_servicetd_hash) && cursor.take(8);
  }
  return ok && cursor.remaining() == 0;
}

// SGX report body, 384 bytes: cpusvn 16, miscselect 4, reserved 28, attributes 16, mrenclave 32,
// reserved 32, mrsigner 32, reserved 96, isvprodid 2, isvsvn 2, reserved 60, report data 64.
bool read_qe_report(ByteView bytes, QeReport& out) {
  Cursor cursor(bytes);
  const bool identity = cursor.take(16) && cursor.copy(out.miscselect) && cursor.take(28) &&
                        cursor.copy(out.attributes) && cursor.take(32 + 32) &&
                        cursor.copy(out.mrsigner) && cursor.take(96);
  const auto isvprodid = cursor.u16();
  const auto isvsvn = cursor.u16();
  if (!identity || !isvprodid || !isvsvn || !cursor.take(60) || !cursor.copy(out.report_data)) {
    return false;
  }
  out.isvprodid = *isvprodid;
  out.isvsvn = *isvsvn;
  return cursor.remaining() == 0;
}

// Signature data, the same in both versions. Type 6 certification data holds the QE report and,
// nested, the type 5 PEM chain.
Outcome read_signature_data(ByteView data, QuoteView& out) {
  if (data.size() < kMinSignatureData) {
    return reject(TdxError::kSigDataTooShort, "at least " + decimal(kMinSignatureData),
                  decimal(data.size()));
  }
  Cursor cursor(data);
  out.signature = *cursor.take(kSignatureBytes);
  out.attestation_key = *cursor.take(kKeyBytes);
  const std::uint16_t outer_type = *cursor.u16();
  const std::uint32_t outer_size = *cursor.u32();
  if (outer_type != kCertDataQeReport) {
    return reject(TdxError::kCertDataTypeOuter, decimal(kCertDataQeReport), decimal(outer_type));
  }
  if (outer_size != cursor.remaining()) {
    return reject(TdxError::kCertDataSizeOuter, decimal(cursor.remaining()), decimal(outer_size));
  }
  out.qe_report_bytes = *cursor.take(kQeReportBytes);
  out.qe_report_signature = *cursor.take(kSignatureBytes);
  const std::uint16_t auth_size = *cursor.u16();
  const auto auth = cursor.take(auth_size);
  if (!auth || cursor.remaining() < 6) {
    return reject(TdxError::kQeAuthDataOverrun,
                  "at most " + decimal(data.size() - kMinSignatureData), decimal(auth_size));
  }
  out.qe_auth_data = *auth;
  const std::uint16_t inner_type = *cursor.u16();
  const std::uint32_t inner_size = *cursor.u32();
  if (inner_type != kCertDataPemChain) {
    return reject(TdxError::kCertDataTypeInner, decimal(kCertDataPemChain), decimal(inner_type));
  }
  if (inner_size != cursor.remaining()) {
    return reject(TdxError::kCertDataSizeInner, decimal(cursor.remaining()), decimal(inner_size));
  }
  out.pck_chain = cursor.rest();
  if (!read_qe_report(out.qe_report_bytes, out.qe_report)) {
    return reject(TdxError::kSigDataTooShort, "an SGX report");
  }
  return {};
}

}  // namespace

Checked<QuoteView> parse_quote(ByteView bytes) {
  if (bytes.size() > kMaxQuoteBytes) {
    return reject(TdxError::kInputTooLarge, "at most " + decimal(kMaxQuoteBytes) + " bytes",
                  decimal(bytes.size()) + " bytes");
  }
  Cursor cursor(bytes);
  QuoteView quote;
  const auto version = read_header(cursor);
  if (!version) {
    return std::unexpected(version.error());
  }
  quote.version = *version;
  if (quote.version == 5) {
    const auto type = read_descriptor(cursor, bytes.size());
    if (!type) {
      return std::unexpected(type.error());
    }
    quote.body_type = *type;
  }
  const std::size_t size = *body_size(std::to_underlying(quote.body_type));
  const std::size_t signed_size = bytes.size() - cursor.remaining() + size;
  const auto body = cursor.take(size);
  const auto signature_size = cursor.u32();
  if (!body || !signature_size || !read_report(*body, quote.body_type, quote.report)) {
    return truncated(signed_size + 4, bytes.size());
  }
  quote.signed_part = bytes.first(signed_size);
  const auto signature_data = cursor.take(*signature_size);
  if (!signature_data) {
    return reject(TdxError::kSigDataLenOverrun, "at most " + decimal(cursor.remaining()),
                  decimal(*signature_size));
  }
  if (auto outcome = read_signature_data(*signature_data, quote); !outcome) {
    return std::unexpected(outcome.error());
  }
  // Quoting services pad their buffers; anything but zeros would be data nobody signed.
  if (std::ranges::any_of(cursor.rest(), [](std::uint8_t byte) { return byte != 0; })) {
    return reject(TdxError::kTrailingDataNonzero, "zero bytes",
                  decimal(cursor.remaining()) + " bytes");
  }
  return quote;
}

}  // namespace assay::attestation::tdx
