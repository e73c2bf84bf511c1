// SPDX-License-Identifier: Apache-2.0
// Any bytes as the event log of a simulated TD: accepted is only a log with the digests of the
// sample, in their order, in each register.

#include "attestation/simulate/event_log.h"

#include <cstdlib>

namespace {

using namespace assay;
using namespace assay::attestation::tdx;

TdReport report_of(const Registers& registers) {
  TdReport report;
  report.rtmr = registers;
  return report;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto events = valid_boot(as_bytes("fuzz"));
  static const TdReport report = report_of(registers_of(events));
  const ByteView input(data, size);
  const auto log = check_event_log(input, report, true);
  if (log) {
    const auto view = parse_event_log(input);
    if (!view || replay(view->events) != report.rtmr || view->size > size) {
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
