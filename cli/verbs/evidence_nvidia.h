// SPDX-License-Identifier: Apache-2.0
// assay evidence verify --type nvidia-gpu: GPUs and switches, offline.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"

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
  std::string root;
  std::string at;
  std::string policy;
};

// Adds the options and examples of this type to "evidence verify".
[[nodiscard]] std::shared_ptr<NvidiaVerifyOptions> add_nvidia_options(const Command& verb);
// Verifies all devices of the evidence, and a board in protected PCIe mode as a whole. Errors: for
// files and options that cannot be used; everything about evidence is a verdict.
[[nodiscard]] Result<Exit> verify_nvidia(const Context& context, const NvidiaCommonOptions& common,
                                         const NvidiaVerifyOptions& options);

}  // namespace assay::cli
