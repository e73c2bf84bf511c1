// SPDX-License-Identifier: Apache-2.0
// Evidence from a program of the operator, for types that a plug-in of the service verifies.
#pragma once

#include <memory>

#include "worker/evidence.h"

namespace assay::worker {

// Makes a source that runs options.command with one argument, the report data in lowercase hex. The
// program writes one JSON object to its standard output within 30 seconds:
//   {"platform":HEX,"evidence":BASE64,"event_log":BASE64,"collateral":{...}}
// "platform" is what the plug-in takes for the identity of the machine; the last two may be absent.
// Errors: usage for a command or a type that is missing.
[[nodiscard]] Result<std::unique_ptr<EvidenceSource>> make_command_evidence(
    const EvidenceOptions& options);

}  // namespace assay::worker
