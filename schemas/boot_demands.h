// SPDX-License-Identifier: Apache-2.0
// What a policy demands of the start of a machine, as its event log proves it
// (schemas/measured_boot.h). Part of conditions on nodes and of demands on stage evidence.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// Demands without members ask for an event log and for nothing else. Digests are SHA-384 in
// lowercase hex.
struct BootDemands {
  bool secure_boot = false;  // the firmware has Secure Boot on
  // Of each list that is not empty, one entry must have been extended into RTMR1 or RTMR2. Kernels
  // and initial RAM disks are named by the digests that are extended for them: Authenticode digests
  // of images that the firmware starts, digests of files that a boot loader reads.
  std::vector<std::string> kernels{};
  std::vector<std::string> initrds{};
  // Texts of ASCII, as GRUB measures them or as the kernel's EFI stub does (UTF-16 with its end).
  std::vector<std::string> command_lines{};
  // What else may have been extended, such as boot loaders. Once any list has an entry, whatever is
  // in RTMR1 and RTMR2 and in none of the lists fails: it may be another kernel under another name.
  std::vector<std::string> others{};
  // JSON: "dangerous_allow_others". What was extended besides does not matter. Who starts a kernel
  // of his own can then extend the digests of another one.
  bool allow_others = false;
  bool operator==(const BootDemands&) const = default;
};

[[nodiscard]] Json to_json(const BootDemands& demands);
[[nodiscard]] Result<BootDemands> read_json(json::As<BootDemands> type, const Json& json);

}  // namespace assay
