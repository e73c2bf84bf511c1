// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/pck_extension.h"

#include <algorithm>
#include <bitset>

#include "attestation/tdx/der_reader.h"

namespace assay::attestation::tdx {
namespace {

// 1.2.840.113741.1.13.1
constexpr std::array<std::uint8_t, 9> kArc = {0x2a, 0x86, 0x48, 0x86, 0xf8, 0x4d, 0x01, 0x0d, 0x01};
constexpr std::array<std::uint8_t, 10> kTcbArc = {0x2a, 0x86, 0x48, 0x86, 0xf8,
                                                  0x4d, 0x01, 0x0d, 0x01, 0x02};

// Members of the extension, by the last number of their OID.
constexpr std::uint8_t kPpid = 1;
constexpr std::uint8_t kTcb = 2;
constexpr std::uint8_t kPceid = 3;
constexpr std::uint8_t kFmspc = 4;
constexpr std::uint8_t kSgxType = 5;
constexpr std::uint8_t kPlatformInstanceId = 6;
// Members of the TCB: 1 to 16 are the components.
constexpr std::uint8_t kPcesvn = 17;
constexpr std::uint8_t kCpusvn = 18;

using Seen = std::bitset<128>;

bool has_all(const Seen& seen, std::uint8_t first, std::uint8_t last) {
  for (std::uint8_t i = first; i <= last; ++i) {
    if (!seen[i]) {
      return false;
    }
  }
  return true;
}

// Reads the OID at the front of an entry: the number behind `arc`, 0 for an OID elsewhere. Nothing
// when there is no OID, or when it was there before.
std::optional<std::uint8_t> take_member(DerReader& entry, ByteView arc, Seen& seen) {
  const auto oid = entry.take(kDerOid);
  if (!oid) {
    return std::nullopt;
  }
  if (oid->size() != arc.size() + 1 || !std::ranges::equal(oid->first(arc.size()), arc) ||
      oid->back() >= seen.size()) {
    return 0;
  }
  const std::uint8_t member = oid->back();
  if (seen[member]) {
    return std::nullopt;
  }
  seen.set(member);
  return member;
}

template <std::size_t N>
bool take_octets(DerReader& entry, std::array<std::uint8_t, N>& out) {
  const auto octets = entry.take(kDerOctetString);
  if (!octets || octets->size() != N) {
    return false;
  }
  std::copy(octets->begin(), octets->end(), out.begin());
  return entry.done();
}

bool read_tcb_member(std::uint8_t member, DerReader& entry, PckExtension& out) {
  if (member >= 1 && member <= out.components.size()) {
    const auto svn = entry.take_unsigned(kDerInteger, 0xff);
    out.components[member - 1U] = static_cast<std::uint8_t>(svn.value_or(0));
    return svn && entry.done();
  }
  if (member == kPcesvn) {
    const auto svn = entry.take_unsigned(kDerInteger, 0xffff);
    out.pcesvn = static_cast<std::uint16_t>(svn.value_or(0));
    return svn && entry.done();
  }
  std::array<std::uint8_t, 16> cpusvn{};
  return member != kCpusvn || take_octets(entry, cpusvn);
}

bool read_tcb(DerReader& entry, PckExtension& out) {
  const auto content = entry.take(kDerSequence);
  if (!content || !entry.done()) {
    return false;
  }
  Seen seen;
  for (DerReader list(*content); !list.done();) {
    const auto pair = list.take(kDerSequence);
    if (!pair) {
      return false;
    }
    DerReader reader(*pair);
    const auto member = take_member(reader, kTcbArc, seen);
    if (!member || !read_tcb_member(*member, reader, out)) {
      return false;
    }
  }
  return has_all(seen, 1, kCpusvn);
}

bool read_member(std::uint8_t member, DerReader& entry, PckExtension& out) {
  switch (member) {
    case kPpid:
      return take_octets(entry, out.ppid);
    case kTcb:
      return read_tcb(entry, out);
    case kPceid:
      return take_octets(entry, out.pceid);
    case kFmspc:
      return take_octets(entry, out.fmspc);
    case kSgxType: {
      const auto type = entry.take_unsigned(kDerEnumerated, 2);
      out.sgx_type = static_cast<std::uint8_t>(type.value_or(0));
      return type && entry.done();
    }
    case kPlatformInstanceId:
      return take_octets(entry, out.platform_instance_id.emplace());
    default:
      return true;
  }
}

}  // namespace

std::optional<PckExtension> parse_pck_extension(ByteView der) {
  DerReader outer(der);
  const auto content = outer.take(kDerSequence);
  if (!content || !outer.done()) {
    return std::nullopt;
  }
  PckExtension extension;
  Seen seen;
  for (DerReader list(*content); !list.done();) {
    const auto pair = list.take(kDerSequence);
    if (!pair) {
      return std::nullopt;
    }
    DerReader reader(*pair);
    const auto member = take_member(reader, kArc, seen);
    if (!member || !read_member(*member, reader, extension)) {
      return std::nullopt;
    }
  }
  if (!has_all(seen, kPpid, kSgxType)) {
    return std::nullopt;
  }
  return extension;
}

}  // namespace assay::attestation::tdx
