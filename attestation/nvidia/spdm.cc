// SPDX-License-Identifier: Apache-2.0
// Parsing of reports.
#include "attestation/nvidia/spdm.h"

#include <algorithm>
#include <array>

#include "attestation/tdx/cursor.h"

namespace assay::attestation::nvidia {
namespace {

using tdx::Cursor;

// SPDM 1.1, GET_MEASUREMENTS: version, code, attributes (a signature is asked for), operation (all
// measurements). Behind the nonce stands the slot of the chain.
constexpr std::array<std::uint8_t, 4> kRequestHeader = {0x11, 0xe0, 0x01, 0xff};
constexpr std::uint8_t kSlot = 0;
// MEASUREMENTS: version, code, number of indices (only for another operation), slot.
constexpr std::array<std::uint8_t, 4> kResponseHeader = {0x11, 0x60, 0x00, kSlot};
constexpr std::uint8_t kDmtfSpecification = 0x01;
constexpr std::size_t kDmtfHeaderBytes = 3;  // type and size of the value

std::unexpected<Failure> truncated() { return reject(NvidiaError::kReportTruncated); }

std::string index_text(std::uint8_t index) { return "index " + std::to_string(index); }

Outcome read_block(Cursor& record, ReportView& report) {
  const auto head = record.take(2);
  const auto size = record.u16();
  if (!head || !size || *size < kDmtfHeaderBytes) {
    return reject(NvidiaError::kMeasurementFormat, "a block with its header");
  }
  const auto block = record.take(*size);
  if (!block || (*head)[0] == 0 || (*head)[1] != kDmtfSpecification) {
    return reject(NvidiaError::kMeasurementFormat, "a whole block of DMTF's specification",
                  index_text((*head)[0]));
  }
  Cursor content(*block);
  static_cast<void>(content.take(1));  // the type says where the value comes from
  if (*content.u16() != content.remaining() || content.remaining() > kMaxMeasurementBytes) {
    return reject(NvidiaError::kMeasurementFormat, "a value as long as its block",
                  index_text((*head)[0]));
  }
  const auto index = static_cast<std::uint8_t>((*head)[0] - 1);
  if (!report.measurements.empty() && report.measurements.back().first >= index) {
    return reject(NvidiaError::kMeasurementFormat, "indices in increasing order",
                  index_text((*head)[0]));
  }
  report.measurements.emplace_back(index, content.rest());
  return {};
}

Outcome read_request(Cursor& cursor, ReportView& report) {
  const auto header = cursor.take(kRequestHeader.size());
  const auto nonce = cursor.take(kNonceBytes);
  const auto slot = cursor.take(1);
  if (!header || !nonce || !slot) {
    return truncated();
  }
  if (!std::ranges::equal(*header, kRequestHeader) || slot->front() != kSlot) {
    return reject(NvidiaError::kRequestFormat, hex_encode(kRequestHeader), hex_encode(*header));
  }
  std::ranges::copy(*nonce, report.nonce.begin());
  return {};
}

Outcome read_record(Cursor& cursor, ReportView& report) {
  const auto header = cursor.take(kResponseHeader.size());
  const auto blocks = cursor.take(1);
  const auto size = cursor.take(3);
  if (!header || !blocks || !size) {
    return truncated();
  }
  if (!std::ranges::equal(*header, kResponseHeader) || blocks->front() == 0) {
    return reject(NvidiaError::kResponseFormat, hex_encode(kResponseHeader), hex_encode(*header));
  }
  const auto record = cursor.take((*size)[0] | static_cast<std::size_t>((*size)[1]) << 8 |
                                  static_cast<std::size_t>((*size)[2]) << 16);
  if (!record) {
    return truncated();
  }
  Cursor rest(*record);
  for (std::uint8_t i = 0; i < blocks->front(); ++i) {
    if (auto read = read_block(rest, report); !read) {
      return read;
    }
  }
  if (rest.remaining() != 0) {
    return reject(NvidiaError::kMeasurementFormat, std::to_string(blocks->front()) + " blocks",
                  std::to_string(rest.remaining()) + " bytes more");
  }
  return {};
}

}  // namespace

std::optional<ByteView> ReportView::field(OpaqueType type) const {
  const auto found = std::ranges::find(opaque, std::to_underlying(type),
                                       &std::pair<std::uint16_t, ByteView>::first);
  return found != opaque.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<ByteView> ReportView::measurement(std::uint8_t index) const {
  const auto found =
      std::ranges::find(measurements, index, &std::pair<std::uint8_t, ByteView>::first);
  return found != measurements.end() ? std::optional(found->second) : std::nullopt;
}

Checked<std::vector<std::pair<std::uint16_t, ByteView>>> parse_opaque(ByteView bytes) {
  std::vector<std::pair<std::uint16_t, ByteView>> fields;
  Cursor cursor(bytes);
  while (cursor.remaining() != 0) {
    const auto type = cursor.u16();
    const auto size = cursor.u16();
    const auto data = size ? cursor.take(*size) : std::nullopt;
    if (!type || !data) {
      return reject(NvidiaError::kOpaqueFormat, "type, size and data of a field");
    }
    if (std::ranges::any_of(fields, [&](const auto& field) { return field.first == *type; })) {
      return reject(NvidiaError::kOpaqueDoubled, "each field once", std::to_string(*type));
    }
    fields.emplace_back(*type, *data);
  }
  return fields;
}

Checked<ReportView> parse_report(ByteView bytes) {
  if (bytes.size() > kMaxReportBytes) {
    return reject(NvidiaError::kInputTooLarge, std::to_string(kMaxReportBytes) + " bytes",
                  std::to_string(bytes.size()) + " bytes");
  }
  ReportView report;
  Cursor cursor(bytes);
  for (const auto read : {read_request, read_record}) {
    if (auto done = read(cursor, report); !done) {
      return std::unexpected(std::move(done).error());
    }
  }
  const auto own_nonce = cursor.take(kNonceBytes);
  const auto opaque_size = cursor.u16();
  if (!own_nonce || !opaque_size) {
    return truncated();
  }
  const auto opaque = cursor.take(*opaque_size);
  if (!opaque) {
    return truncated();
  }
  auto fields = parse_opaque(*opaque);
  if (!fields) {
    return std::unexpected(std::move(fields).error());
  }
  report.opaque = *std::move(fields);
  report.signed_bytes = bytes.first(bytes.size() - cursor.remaining());
  const auto signature = cursor.take(kSignatureBytes);
  if (!signature) {
    return truncated();
  }
  if (cursor.remaining() != 0) {
    return reject(NvidiaError::kReportTrailing, "the end",
                  std::to_string(cursor.remaining()) + " bytes more");
  }
  report.signature = *signature;
  return report;
}

}  // namespace assay::attestation::nvidia
