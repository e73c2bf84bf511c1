// SPDX-License-Identifier: Apache-2.0
// The verbs of "evidence" for NVIDIA devices.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/verbs/evidence_endorsed.h"

namespace assay::cli {

struct NvidiaVerifyOptions {
  std::string nonce;
  std::vector<std::string> rims;
  std::vector<std::string> answers;
  std::string rim_root;
};

// Options that "evidence verify" and this type share.
struct NvidiaCommonOptions {
  std::string evidence;
  std::string collateral;
  std::string root;
  std::string at;
  std::string policy;
  EndorsedFlags endorsed;
};

// Adds the options and examples of this type to "evidence verify".
[[nodiscard]] std::shared_ptr<NvidiaVerifyOptions> add_nvidia_options(const Command& verb);
// Verifies all devices of the evidence, and a board in protected PCIe mode as a whole. Errors: for
// files and options that cannot be used; everything about evidence is a verdict.
[[nodiscard]] Result<Exit> verify_nvidia(const Context& context, const NvidiaCommonOptions& common,
                                         const NvidiaVerifyOptions& options);

// Options of "evidence simulate" that only devices have.
struct NvidiaSimulateOptions {
  std::string nonce;
  std::string architecture;
  std::string mode;
  std::uint64_t devices = 1;
  std::uint64_t first = 0;
};
struct NvidiaSimulation {
  std::string seed;
  std::string fault;
  std::string at;
  std::string out_quote;
  std::string out_collateral;
  std::string out_root;
  NvidiaSimulateOptions device;
};
[[nodiscard]] std::shared_ptr<NvidiaSimulateOptions> add_nvidia_simulation(const Command& verb);
[[nodiscard]] Result<Exit> simulate_nvidia(const Context& context, const NvidiaSimulation& options);
// Prints the faults of simulated devices.
[[nodiscard]] Exit list_nvidia_faults(const Context& context);

// Parses 64 hex digits of either case. Errors: usage.
[[nodiscard]] Result<std::array<std::uint8_t, 32>> parse_device_nonce(const std::string& hex);

}  // namespace assay::cli
