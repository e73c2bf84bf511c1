// SPDX-License-Identifier: Apache-2.0
// The process of one call.
#pragma once

#include <cstdint>

namespace assay::attestation::verifier_host {

// Locks this process in, loads the plug-in, says on `socket` that it is ready, takes one call from
// there, answers it, and ends. `plugin` is the plug-in's memory file. Both become the only
// descriptors of this process beside standard input and output. `parent` is the process that forked
// this one, with which it ends.
[[noreturn]] void serve_one_call(int socket, int plugin, int parent, std::uint32_t cpu_seconds);

}  // namespace assay::attestation::verifier_host
