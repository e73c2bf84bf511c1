// SPDX-License-Identifier: Apache-2.0
// Flags that name the log's verifier key.
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

// Finds the verifier. Returns nullopt when neither flag is given. Errors: usage when both are
// given.
[[nodiscard]] Result<std::optional<attestation::NoteVerifier>> find_verifier(
    const VerifierFlags& flags);

}  // namespace assay::cli
