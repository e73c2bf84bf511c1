// SPDX-License-Identifier: Apache-2.0
// The flags that say whose log it is.
#pragma once

#include <optional>
#include <string>

#include "attestation/signed_note.h"
#include "cli/command.h"

namespace assay::cli {

struct VerifierFlags {
  std::string key;
  std::string file;
};

void add_verifier_options(const Command& verb, VerifierFlags& flags);

// Nothing when neither is given; usage when both are.
[[nodiscard]] Result<std::optional<attestation::NoteVerifier>> find_verifier(
    const VerifierFlags& flags);

}  // namespace assay::cli
