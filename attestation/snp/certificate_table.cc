// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/certificate_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace assay::attestation::snp {
namespace {

constexpr std::size_t kGuidBytes = 16;
constexpr std::size_t kEntryBytes = kGuidBytes + 8;

using Guid = std::array<std::uint8_t, kGuidBytes>;
constexpr std::array<std::pair<Guid, ByteView CertificateTable::*>, 4> kKinds = {{
    {{0x63, 0xda, 0x75, 0x8d, 0xe6, 0x64, 0x45, 0x64, 0xad, 0xc5, 0xf4, 0xb9, 0x3b, 0xe8, 0xac,
      0xcd},
     &CertificateTable::vcek},
    {{0xa8, 0x07, 0x4b, 0xc2, 0xa2, 0x5a, 0x48, 0x3e, 0xaa, 0xe6, 0x39, 0xc0, 0x45, 0xa0, 0xb8,
      0xa1},
     &CertificateTable::vlek},
    {{0x4a, 0xb7, 0xb3, 0x79, 0xbb, 0xac, 0x4f, 0xe4, 0xa0, 0x2f, 0x05, 0xae, 0xf3, 0x27, 0xc7,
      0x82},
     &CertificateTable::ask},
    {{0xc0, 0xb4, 0x06, 0xa4, 0xa8, 0x03, 0x49, 0x52, 0x97, 0x43, 0x3f, 0xb6, 0x01, 0x4c, 0xd0,
      0xae},
     &CertificateTable::ark},
}};

struct Entry {
  Guid guid{};
  std::size_t offset = 0;
  std::size_t size = 0;

  [[nodiscard]] bool is_end() const { return guid == Guid{} && offset == 0 && size == 0; }
};

std::size_t little_endian(ByteView bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = (value << 8) | bytes[i];
  }
  return value;
}

Entry read_entry(ByteView bytes) {
  Entry entry;
  std::ranges::copy(bytes.first(kGuidBytes), entry.guid.begin());
  entry.offset = little_endian(bytes.subspan(kGuidBytes, 4));
  entry.size = little_endian(bytes.subspan(kGuidBytes + 4, 4));
  return entry;
}

std::unexpected<Failure> bad_table(std::string why) {
  return reject(SnpError::kCertTableFormat, std::move(why));
}

void append_little_endian(std::size_t value, Bytes& out) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

}  // namespace

Checked<CertificateTable> parse_certificate_table(ByteView bytes) {
  CertificateTable table;
  ByteView rest = bytes;
  for (std::size_t number = 0; !bytes.empty(); ++number) {
    if (rest.size() < kEntryBytes || number > kMaxTableEntries) {
      return bad_table("at most 16 entries, and a zero entry behind them");
    }
    const Entry entry = read_entry(rest);
    if (entry.is_end()) {
      break;
    }
    rest = rest.subspan(kEntryBytes);
    if (entry.offset > bytes.size() || entry.size > bytes.size() - entry.offset) {
      return bad_table("entries within the table");
    }
    const auto kind =
        std::ranges::find(kKinds, entry.guid, [](const auto& row) { return row.first; });
    if (kind == kKinds.end()) {
      continue;
    }
    ByteView& place = table.*kind->second;
    if (!place.empty() || entry.size == 0) {
      return bad_table("one certificate of each kind");
    }
    place = bytes.subspan(entry.offset, entry.size);
  }
  return table;
}

Bytes make_certificate_table(const CertificateTable& certificates) {
  std::size_t count = 0;
  for (const auto& [guid, member] : kKinds) {
    count += (certificates.*member).empty() ? 0U : 1U;
  }
  if (count == 0) {
    return {};
  }
  Bytes header;
  Bytes data;
  const std::size_t begin = (count + 1) * kEntryBytes;
  for (const auto& [guid, member] : kKinds) {
    const ByteView certificate = certificates.*member;
    if (!certificate.empty()) {
      header.insert(header.end(), guid.begin(), guid.end());
      append_little_endian(begin + data.size(), header);
      append_little_endian(certificate.size(), header);
      data.insert(data.end(), certificate.begin(), certificate.end());
    }
  }
  header.resize(begin);
  header.insert(header.end(), data.begin(), data.end());
  return header;
}

}  // namespace assay::attestation::snp
