// SPDX-License-Identifier: Apache-2.0
// Makes event logs (attestation/tdx/event_log.h) of machines that do not exist.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "attestation/tdx/event_log.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

// One event to write. The digest is that of the data unless `digest` names another.
struct EventSpec {
  std::uint32_t index = 0;
  std::uint32_t type = 0;
  Bytes data;
  std::optional<Measurement> digest;
};

// Returns a log with a header and `events`, in the layout of real machines, with 8 bytes of
// padding.
[[nodiscard]] Bytes make_event_log(const std::vector<EventSpec>& events);

// Returns the registers that the log of `events` leads to.
[[nodiscard]] Registers registers_of(const std::vector<EventSpec>& events);

// Returns the events of a start with secure boot: firmware, a boot loader, its command line, and an
// initial RAM disk. Digests of images follow from `seed`. RTMR3 is extended by nothing.
[[nodiscard]] std::vector<EventSpec> valid_boot(ByteView seed);

// The command line in valid_boot().
inline constexpr std::string_view kSimulatedCommandLine =
    "/boot/vmlinuz root=/dev/vda1 ro console=hvc0";

}  // namespace assay::attestation::tdx
