// SPDX-License-Identifier: Apache-2.0
// Any bytes as the event log of a simulated TD: accepted is only a log with the digests of the
// sample, in their order, in each register.

#include "attestation/simulate/event_log.h"

#include <cstdlib>
#include <vector>

namespace {

using namespace assay;
using namespace assay::attestation::tdx;

TdReport report_of(const Registers& registers) {
  TdReport report;
  report.rtmr = registers;
  return report;
}

// Digests that extend a register, in the order of the log.
std::vector<Measurement> extensions_of(const std::vector<LoggedEvent>& events,
                                       std::uint32_t index) {
  std::vector<Measurement> found;
  for (const LoggedEvent& event : events) {
    if (event.index == index && event.type != kEvNoAction) {
      found.push_back(event.digest);
    }
  }
  return found;
}

// Compares digests, and computes no register.
bool same_extensions(const std::vector<LoggedEvent>& a, const std::vector<LoggedEvent>& b) {
  for (std::uint32_t index = 1; index <= 4; ++index) {
    if (extensions_of(a, index) != extensions_of(b, index)) {
      return false;
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto events = valid_boot(as_bytes("fuzz"));
  static const TdReport report = report_of(registers_of(events));
  static const Bytes sample = make_event_log(events);
  static const std::vector<LoggedEvent> sample_events = parse_event_log(sample).value().events;
  const ByteView input(data, size);
  const auto log = check_event_log(input, report, true);
  if (log) {
    const auto view = parse_event_log(input);
    if (!view || !same_extensions(view->events, sample_events) || view->size > size) {
      std::abort();
    }
    static_cast<void>(to_json(*log).dump());
  }
  // Facts are read from logs that replay; here from every log that parses.
  if (const auto view = parse_event_log(input)) {
    static_cast<void>(boot_facts(view->events));
  }
  return 0;
}
