// SPDX-License-Identifier: Apache-2.0
// The attestation result of another verifier as evidence of this machine
// (docs/outside-verifiers.md), from a program of the operator that talks to that verifier.
#pragma once

#include <memory>

#include "worker/evidence.h"

namespace assay::worker {

// Makes a source that runs options.command with two arguments in lowercase hex: the report data for
// the machine's own evidence (64 bytes), and the nonce for the other verifier (32 bytes). The
// program writes one JSON object to its standard output within 30 seconds:
//   {"ear":TOKEN,"platform":HEX}
// "platform" is the machine's id as the token states it. Leave it out when the service's appraisal
// has no member "platform". The source asks for it once, with zeros as both arguments; "ear" may be
// absent in that answer.
// The source gives evidence only for a challenge. Errors: usage for a command that is missing.
[[nodiscard]] Result<std::unique_ptr<EvidenceSource>> make_outside_result(
    const EvidenceOptions& options);

}  // namespace assay::worker
