// SPDX-License-Identifier: Apache-2.0
// Identifies the process at the other end of a Unix socket. Only what the kernel says is used.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/error.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// How the process behind a socket is found.
enum class PeerLookup : std::uint8_t {
  kNewest,       // SO_PEERPIDFD (Linux 6.5), or else as with kCredentials
  kCredentials,  // SO_PEERCRED and pidfd_open; the start time is compared before and after
};

// Who may register.
struct PeerRules {
  std::vector<std::uint32_t> uids{};  // user ids that may register from outside of every pod
  std::string proc = "/proc";         // of the host's pid namespace
  PeerLookup lookup = PeerLookup::kNewest;
};

struct IdentifiedPeer {
  Peer peer;
  Descriptor process;  // pidfd: poll() reports POLLIN when the process has ended
};

// Identifies the process that connected `socket`. The process is still alive when its cgroups are
// read, so its pid cannot belong to another process by then.
// Errors: forbidden for a process that has ended, that is in another pid namespace, whose cgroups
// place_of_process() (cgroup.h) refuses, or that runs in no pod and whose user is not in
// `rules.uids`.
[[nodiscard]] Result<IdentifiedPeer> identify_peer(int socket, const PeerRules& rules);

// The functions below are public only for tests. Returns the number in the line "Pid:" of a pidfd's
// fdinfo: 0 for another pid namespace, -1 for a process that has ended. Errors: forbidden when
// there is no such line.
[[nodiscard]] Result<std::int64_t> pid_in_fdinfo(std::string_view fdinfo);
// Returns the start time in /proc/PID/stat: field 22, in clock ticks since the start of the
// machine. Works with any name of the process (field 2), because a name may contain blanks and
// parentheses. Errors: forbidden.
[[nodiscard]] Result<std::uint64_t> start_time_in_stat(std::string_view stat);

}  // namespace assay::worker
