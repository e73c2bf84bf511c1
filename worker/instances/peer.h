// SPDX-License-Identifier: Apache-2.0
// Who is at the other end of a Unix socket, as the kernel says.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/error.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// How the process behind a socket is found.
enum class PeerLookup : std::uint8_t {
  kNewest,       // SO_PEERPIDFD (Linux 6.5), else as kCredentials
  kCredentials,  // SO_PEERCRED and pidfd_open; the start time is compared before and after
};

// Who may register.
struct PeerRules {
  std::vector<std::uint32_t> uids{};  // user ids that may register from outside of every pod
  std::string proc = "/proc";         // of the host's pid namespace
  PeerLookup lookup = PeerLookup::kNewest;
};

// Identifies the process that connected `socket`. The process is alive when its groups are read, so
// that its number cannot have passed to another process in between.
// Errors: forbidden for a process that has ended, that is in another pid namespace, whose groups
// say nothing clear, or that runs in no pod and is not of `rules.uids`.
[[nodiscard]] Result<Peer> identify_peer(int socket, const PeerRules& rules);

// Parts that tests look at.
// The number in the line "Pid:" of a pidfd's fdinfo: 0 for another pid namespace, -1 for a process
// that has ended. Errors: forbidden when there is no such line.
[[nodiscard]] Result<std::int64_t> pid_in_fdinfo(std::string_view fdinfo);
// Start time in /proc/PID/stat: field 22, clock ticks since the start of the machine. The name of a
// process, field 2, may hold anything. Errors: forbidden.
[[nodiscard]] Result<std::uint64_t> start_time_in_stat(std::string_view stat);

}  // namespace assay::worker
