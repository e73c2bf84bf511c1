// SPDX-License-Identifier: Apache-2.0
// Verifying an artifact against a sigstore bundle, for verbs.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/context.h"
#include "schemas/core/error.h"

namespace assay::cli {

struct BundleFlags {
  std::string bundle;    // file
  std::string key;       // file, PEM
  std::string identity;  // exactly
  std::string pattern;   // KIND:PATTERN, in place of `identity`
  std::string issuer;
  std::string trusted_root;  // file
  std::string at;
};

// Adds the options of `flags`, without --bundle.
void add_bundle_trust_options(const Command& verb, BundleFlags& flags);

// Verifies `flags.bundle` for the artifact: a file, "sha256:DIGEST", or nothing for an envelope
// alone. Prints what was verified. Returns kNo when the bundle does not verify. Errors: usage for
// flags that do not fit together; those of files, keys and trusted roots.
[[nodiscard]] Result<Exit> verify_sigstore_bundle(const Context& context, const BundleFlags& flags,
                                                  const std::string& artifact);

}  // namespace assay::cli
