// SPDX-License-Identifier: Apache-2.0
// A process that writes is killed at random moments.
#pragma once

namespace assay::storage {

// Starts the program storage_kill_child `rounds` times on one database and kills it (SIGKILL) at a
// random moment within `max_ms`, in two of three rounds counted from its first acknowledged write,
// else from its start. Checks after each death that what was acknowledged is there and that log and
// file verify.
void kill_rounds(int rounds, int max_ms);

}  // namespace assay::storage
