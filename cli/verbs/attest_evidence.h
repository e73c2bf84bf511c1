// SPDX-License-Identifier: Apache-2.0
// Stage evidence (schemas/stage_evidence.h) for the verbs of "attest": made beside a statement, and
// shown.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/documents/keys.h"
#include "schemas/statement.h"
#include "worker/evidence.h"

namespace assay::cli {

struct StageEvidenceFlags {
  worker::EvidenceOptions source{"none", {}, {}, {}};
  std::string out;
};

void add_stage_evidence_options(const Command& verb, StageEvidenceFlags& flags);

// Checks that the flags fit together; call this before anything is signed. Errors: usage.
[[nodiscard]] Status check_stage_evidence_flags(const StageEvidenceFlags& flags,
                                                const SigningFlags& signing);

// Collects evidence that this machine holds the key in `signing`, for `statement`, signs it with
// that key and writes it to the file in `flags`. Does nothing when no evidence is asked for.
// Errors: evidence-unavailable; those of reading the key and writing the file.
[[nodiscard]] Status write_stage_evidence(const Context& context, const Statement& statement,
                                          const SigningFlags& signing,
                                          const StageEvidenceFlags& flags);

}  // namespace assay::cli
