// SPDX-License-Identifier: Apache-2.0
// The event log of a TD as events. Firmware, boot loader and kernel write an event for each digest
// that they extend into a measurement register. Nobody signs the log: only its replay
// (event_log.h) shows that it belongs to a quote.
// Layout: TCG "PC Client Platform Firmware Profile", section 10 (crypto agile log), with the
// register numbers of ACPI's CCEL table (UEFI 2.10, section 38.4).
#pragma once

#include <cstdint>
#include <vector>

#include "attestation/tdx/error.h"
#include "attestation/tdx/quote_parse.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

// With the padding that fills the log area. Logs of real machines have 2 to 22 KB of events.
inline constexpr std::size_t kMaxEventLogAreaBytes = 1U << 20;
inline constexpr std::size_t kMaxLoggedEvents = 10'000;
// Algorithms that one event may have a digest of.
inline constexpr std::size_t kMaxDigestsOfAnEvent = 5;

// Event types that this folder reads (TCG PC Client Platform Firmware Profile, table 27).
inline constexpr std::uint32_t kEvNoAction = 0x03;
inline constexpr std::uint32_t kEvEventTag = 0x06;
inline constexpr std::uint32_t kEvIpl = 0x0d;
inline constexpr std::uint32_t kEvEfiVariableDriverConfig = 0x80000001;
inline constexpr std::uint32_t kEvEfiBootServicesApplication = 0x80000003;

// One event. Borrows from the log.
struct LoggedEvent {
  std::uint32_t index = 0;  // 0: MRTD, which no event extends; 1 to 4: RTMR0 to RTMR3
  std::uint32_t type = 0;
  Measurement digest{};  // SHA-384; what was extended, not always the hash of `data`
  ByteView data;
};

struct EventLogView {
  std::vector<LoggedEvent> events;
  std::size_t size = 0;  // bytes before the padding
};

// Parses a log up to its padding (bytes 0xff or 0x00), or up to its end. Errors: INPUT_TOO_LARGE
// and the event log group of errors.def, without EVENTLOG_MISSING and EVENTLOG_RTMR_MISMATCH.
[[nodiscard]] Checked<EventLogView> parse_event_log(ByteView log);

}  // namespace assay::attestation::tdx
