// SPDX-License-Identifier: Apache-2.0
// What an event log proves about a TD. Its replay explains the measurement registers of a quote,
// and then some of its events say what was booted.
//
// The log is data of the attester. A register covers the digests of events and their order, and
// nothing else: neither the type of an event nor its data. A text is therefore believed only where
// its hash is the event's digest. A name that somebody gave a digest ("this is the initrd") is a
// claim of whoever extended it, which is the firmware for RTMR0 and RTMR1, and the boot loader and
// the kernel for RTMR2.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "attestation/tdx/error.h"
#include "attestation/tdx/event_log_parse.h"
#include "attestation/tdx/quote_parse.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/json.h"
#include "schemas/measured_boot.h"

namespace assay::attestation::tdx {

using Registers = std::array<Measurement, 4>;  // RTMR0 to RTMR3

// Returns the registers after all events: each starts with zeros, and an event turns it into
// SHA-384(register || digest). EV_NO_ACTION extends nothing (TCG PC Client Platform Firmware
// Profile, section 10.4.1), and neither do events of MRTD.
[[nodiscard]] Registers replay(const std::vector<LoggedEvent>& events);

// What a log says about the start of a TD. A list is nullopt where the log has more than kMaxBooted
// entries of that kind, so that nobody takes a part of the list for all of it.
inline constexpr std::size_t kMaxBooted = 32;
struct BootFacts {
  // UEFI's variable SecureBoot, as the firmware measured it into RTMR0; nullopt: not in the log.
  // Several values count as false unless all of them are true.
  std::optional<bool> secure_boot;
  // Authenticode digests of the images that the firmware started, in order: boot loaders, and the
  // kernel where the firmware starts it. From RTMR1.
  std::optional<std::vector<Measurement>> applications{std::in_place};
  // Files that a boot loader said to be kernels when it measured them into RTMR2: GRUB, and
  // systemd-stub for the section .linux of a unified kernel image.
  std::optional<std::vector<Measurement>> kernels{std::in_place};
  // Command lines of kernels that a boot loader measured into RTMR2 as text.
  std::optional<std::vector<std::string>> command_lines{std::in_place};
  // Digests of command lines whose text is not in the log: of UTF-16 text by the kernel's EFI stub,
  // of the section .cmdline by systemd-stub. From RTMR2.
  std::optional<std::vector<Measurement>> load_options{std::in_place};
  // Initial RAM disks that the kernel's EFI stub, GRUB or systemd-stub measured into RTMR2.
  std::optional<std::vector<Measurement>> initrds{std::in_place};
};
[[nodiscard]] BootFacts boot_facts(const std::vector<LoggedEvent>& events);

// Returns what the digests of a log prove, whatever the log says of them.
[[nodiscard]] MeasuredBoot measured_boot(const std::vector<LoggedEvent>& events);

// A log whose replay gives the registers of a quote.
struct ReplayedLog {
  Digest digest;  // SHA-256 of the log without its padding
  std::size_t events = 0;
  // False: RTMR3 has been extended without an event, which software in the TD may do at any time.
  bool explains_rtmr3 = false;
  BootFacts boot;
  MeasuredBoot measured;
};

// Parses `log` and compares its replay with RTMR0 to RTMR2, and with RTMR3 when `with_rtmr3`.
// Errors: those of parse_event_log(), EVENTLOG_RTMR_MISMATCH with the register as parameter.
[[nodiscard]] Checked<ReplayedLog> check_event_log(ByteView log, const TdReport& report,
                                                   bool with_rtmr3);

// Returns {"digest","events","rtmr3","secure_boot","applications","kernels","command_lines",
// "load_options","initrds","measured"}. "rtmr3" is "replayed" or "unexplained"; what is not known
// is null.
[[nodiscard]] Json to_json(const ReplayedLog& log);

}  // namespace assay::attestation::tdx
