// SPDX-License-Identifier: Apache-2.0
// assay sign --format oms: a signature of a model that model_signing reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"

namespace assay::cli {

struct SignModelFlags {
  std::string hash = "sha256";
  std::uint64_t shard_size = 0;  // bytes; 0: whole files
  std::vector<std::string> ignore;
  bool allow_symlinks = false;
  std::vector<std::string> certificates;  // PEM files, the signer's first
};

void add_sign_model_options(const Command& verb, SignModelFlags& flags);

// Returns whether one of the flags was given.
[[nodiscard]] bool are_given(const SignModelFlags& flags);

// Hashes the model at `path` and writes its signature by `signer` to `out`. Errors: usage without
// `out`; those of hashing and of sign_bundle() (attestation/oms/verify.h).
[[nodiscard]] Result<Exit> sign_model(const Context& context, const std::string& path,
                                      const SignModelFlags& flags, const Signer& signer,
                                      const std::string& out);

}  // namespace assay::cli
