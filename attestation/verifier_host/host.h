// SPDX-License-Identifier: Apache-2.0
// The process that stays: one child for each call, the next one forked ahead.
#pragma once

namespace assay::attestation::verifier_host {

// Serves calls from `socket` until it is closed. `plugin` is the plug-in's memory file. Returns the
// exit status of the process.
[[nodiscard]] int serve(int socket, int plugin);

}  // namespace assay::attestation::verifier_host
