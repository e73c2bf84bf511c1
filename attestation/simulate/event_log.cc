// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/event_log.h"

#include <algorithm>
#include <string>

#include "attestation/simulate/writer.h"
#include "schemas/core/sha.h"

namespace assay::attestation::tdx {
namespace {

constexpr std::uint16_t kSha384 = 0x000c;
constexpr std::uint32_t kEvSeparator = 0x04;
constexpr std::string_view kSpecId{"Spec ID Event03\0", 16};
// EFI_GLOBAL_VARIABLE, 10 characters, 1 byte, "SecureBoot" in UTF-16LE, on.
constexpr std::string_view kSecureBootOn{
    "\x61\xdf\xe4\x8b\xca\x93\xd2\x11\xaa\x0d\x00\xe0\x98\x03\x2b\x8c"
    "\x0a\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"
    "S\0e\0c\0u\0r\0e\0B\0o\0o\0t\0\x01",
    53};
// Tag, size, name: as the EFI stub of Linux writes it.
constexpr std::string_view kInitrdTag{"\xec\x22\x3b\x8f\x0d\x00\x00\x00Linux initrd\0", 21};

Measurement sha384(std::initializer_list<ByteView> parts) {
  const Digest digest = sha(HashAlgorithm::kSha384, parts);
  Measurement value{};
  std::ranges::copy(digest.bytes(), value.begin());
  return value;
}

Measurement derived(ByteView seed, std::string_view label) {
  return sha384({as_bytes("assay simulated event"), seed, as_bytes(label)});
}

Measurement digest_of(const EventSpec& event) {
  return event.digest ? *event.digest : sha384({event.data});
}

}  // namespace

Bytes make_event_log(const std::vector<EventSpec>& events) {
  Writer out;
  out.number(1, 4);
  out.number(kEvNoAction, 4);
  out.zeros(20);
  out.number(kSpecId.size() + 8 + 4 + 4 + 1, 4);
  out.bytes(as_bytes(kSpecId));
  out.zeros(4);           // platform class
  out.number(0x0200, 2);  // minor and major version of the specification
  out.number(0x0200, 2);  // errata; size of an integer: 2, for 64 bits
  out.number(1, 4);
  out.number(kSha384, 2);
  out.number(std::tuple_size_v<Measurement>, 2);
  out.number(0, 1);  // bytes of vendor data
  for (const EventSpec& event : events) {
    out.number(event.index, 4);
    out.number(event.type, 4);
    out.number(1, 4);
    out.number(kSha384, 2);
    out.bytes(digest_of(event));
    out.number(event.data.size(), 4);
    out.bytes(event.data);
  }
  out.number(UINT64_MAX, 8);
  return out.take();
}

Registers registers_of(const std::vector<EventSpec>& events) {
  std::vector<LoggedEvent> logged;
  logged.reserve(events.size());
  for (const EventSpec& event : events) {
    logged.push_back({event.index, event.type, digest_of(event), event.data});
  }
  return replay(logged);
}

std::vector<EventSpec> valid_boot(ByteView seed) {
  const std::string line(kSimulatedCommandLine);
  return {
      {1, kEvEfiVariableDriverConfig, to_bytes(kSecureBootOn), {}},
      {1, kEvSeparator, Bytes(4), {}},
      {1, 0x0a, to_bytes("ACPI DATA"), derived(seed, "ACPI")},
      {2, kEvEfiBootServicesApplication, Bytes(32), derived(seed, "boot loader")},
      {2, kEvEfiBootServicesApplication, Bytes(32), derived(seed, "kernel")},
      {2, kEvSeparator, Bytes(4), {}},
      {3, kEvIpl, to_bytes("kernel_cmdline: " + line + '\0'), sha384({as_bytes(line)})},
      {3, kEvEventTag, to_bytes(kInitrdTag), derived(seed, "initrd")},
  };
}

}  // namespace assay::attestation::tdx
