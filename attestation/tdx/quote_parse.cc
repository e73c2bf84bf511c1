// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/quote_parse.h"

#include <algorithm>
#include <optional>
#include <span>

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

// A field of a structure of fixed size. The compiler checks that it lies inside.
template <std::size_t Offset, std::size_t Size, std::size_t N>
void read_at(std::span<const std::uint8_t, Size> from, std::array<std::uint8_t, N>& out) {
  std::ranges::copy(from.template subspan<Offset, N>(), out.begin());
}

template <std::size_t Offset, std::size_t Size>
std::uint16_t u16_at(std::span<const std::uint8_t, Size> from) {
  const auto bytes = from.template subspan<Offset, 2>();
  return static_cast<std::uint16_t>(bytes[0] | (bytes[1] << 8));
}

// Of any type; `body` has the size of that type.
void read_report(ByteView body, BodyType type, TdReport& out) {
  const auto td10 = body.first<kTd10Bytes>();
  read_at<0>(td10, out.tee_tcb_svn);
  read_at<16>(td10, out.mrseam);
  read_at<64>(td10, out.mrsignerseam);
  read_at<112>(td10, out.seamattributes);
  read_at<120>(td10, out.tdattributes);
  read_at<128>(td10, out.xfam);
  read_at<136>(td10, out.mrtd);
  read_at<184>(td10, out.mrconfigid);
  read_at<232>(td10, out.mrowner);
  read_at<280>(td10, out.mrownerconfig);
  read_at<328>(td10, out.rtmr[0]);
  read_at<376>(td10, out.rtmr[1]);
  read_at<424>(td10, out.rtmr[2]);
  read_at<472>(td10, out.rtmr[3]);
  read_at<520>(td10, out.report_data);
  if (type == BodyType::kTd10) {
    return;
  }
  const auto td15 = body.first<kTd15Bytes>();
  read_at<584>(td15, out.tee_tcb_svn2);
  read_at<600>(td15, out.mrservicetd);
  if (type == BodyType::kTd15Ex) {
    const auto extended = body.first<kTd15ExBytes>();
    read_at<729>(extended, out.init_servicetd_hash);
    read_at<829>(extended, out.current_servicetd_hash);
  }
}

// The body of an SGX report.
QeReport read_qe_report(std::span<const std::uint8_t, kQeReportBytes> bytes) {
  QeReport report;
  read_at<16>(bytes, report.miscselect);
  read_at<48>(bytes, report.attributes);
  read_at<128>(bytes, report.mrsigner);
  report.isvprodid = u16_at<256>(bytes);
  report.isvsvn = u16_at<258>(bytes);
  read_at<320>(bytes, report.report_data);
  return report;
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
  out.qe_report = read_qe_report(out.qe_report_bytes.first<kQeReportBytes>());
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
  if (!body || !signature_size) {
    return truncated(signed_size + 4, bytes.size());
  }
  read_report(*body, quote.body_type, quote.report);
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
