// SPDX-License-Identifier: Apache-2.0
// A process that writes is killed at random moments.
#pragma once

namespace assay::storage {

// Starts the program storage_kill_child `rounds` times on one database, kills it (SIGKILL) within
// `max_ms` of its first acknowledged write or during its start, and checks after each death that
// what it acknowledged is there and that log and file verify.
void kill_rounds(int rounds, int max_ms);

}  // namespace assay::storage
