// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/peer.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "schemas/posix/files.h"
#include "worker/instances/cgroup.h"

// Headers of Debian 12 do not have this option yet.
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace assay::worker {
namespace {

constexpr std::size_t kMaxProcFile = 64U << 10;

std::unexpected<Error> refused(std::string detail) {
  return fail(ErrorCode::kForbidden, std::move(detail));
}

Result<std::string> read_proc(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    return refused("the process has ended, or its files in /proc cannot be read");
  }
  std::string text(kMaxProcFile, '\0');
  const std::int64_t size =
      read_up_to(file.get(), {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  if (size < 0) {
    return refused("the process has ended, or its files in /proc cannot be read");
  }
  text.resize(static_cast<std::size_t>(size));
  return text;
}

template <typename Number>
std::optional<Number> number_at(std::string_view text) {
  Number number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

Result<ucred> credentials(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof(peer)) {
    return refused("the kernel does not say who is at the other end");
  }
  return peer;
}

// True while the process of the pidfd has not ended.
bool is_alive(int pidfd) {
  pollfd wait{pidfd, POLLIN, 0};
  return ::poll(&wait, 1, 0) == 0;
}

struct Process {
  Descriptor pidfd;
  std::int64_t pid;
};

Result<std::uint64_t> start_time(const PeerRules& rules, std::int64_t pid) {
  ASSAY_ASSIGN(const std::string stat, read_proc(rules.proc + "/" + std::to_string(pid) + "/stat"));
  return start_time_in_stat(stat);
}

Result<Process> by_credentials(int socket, const PeerRules& rules) {
  ASSAY_ASSIGN(const ucred peer, credentials(socket));
  if (peer.pid <= 0) {
    return refused("the process is in a pid namespace that the node agent cannot see");
  }
  ASSAY_ASSIGN(const std::uint64_t before, start_time(rules, peer.pid));
  Process process{Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0))), peer.pid};
  if (!process.pidfd) {
    return refused("the process has ended");
  }
  ASSAY_ASSIGN(const std::uint64_t after, start_time(rules, peer.pid));
  if (before != after) {
    return refused("another process has its number");
  }
  return process;
}

// Returns nullopt where the kernel does not know SO_PEERPIDFD.
Result<std::optional<Process>> by_pidfd(int socket) {
  int number = -1;
  socklen_t size = sizeof(number);
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &number, &size) != 0) {
    if (errno == ENOPROTOOPT) {
      return std::optional<Process>();
    }
    return refused("the process that connected has ended");
  }
  Process process{Descriptor(number), 0};
  ASSAY_ASSIGN(const std::string fdinfo, read_proc("/proc/self/fdinfo/" + std::to_string(number)));
  ASSAY_ASSIGN(process.pid, pid_in_fdinfo(fdinfo));
  if (process.pid == 0) {
    return refused("the process is in a pid namespace that the node agent cannot see");
  }
  if (process.pid < 0) {
    return refused("the process that connected has ended");
  }
  return std::optional(std::move(process));
}

Result<Process> process_behind(int socket, const PeerRules& rules) {
  if (rules.lookup == PeerLookup::kNewest) {
    ASSAY_ASSIGN(std::optional<Process> process, by_pidfd(socket));
    if (process) {
      return *std::move(process);
    }
  }
  return by_credentials(socket, rules);
}

}  // namespace

Result<std::int64_t> pid_in_fdinfo(std::string_view fdinfo) {
  constexpr std::string_view kLine = "Pid:\t";
  while (!fdinfo.empty()) {
    const std::string_view line = fdinfo.substr(0, fdinfo.find('\n'));
    if (line.starts_with(kLine)) {
      if (const auto pid = number_at<std::int64_t>(line.substr(kLine.size()))) {
        return *pid;
      }
    }
    fdinfo.remove_prefix(std::min(line.size() + 1, fdinfo.size()));
  }
  return refused("the kernel does not say which process connected");
}

Result<std::uint64_t> start_time_in_stat(std::string_view stat) {
  constexpr int kAfterName = 20;  // fields from the name's end to field 22
  const std::size_t end = stat.rfind(')');
  std::string_view rest = end == std::string_view::npos ? "" : stat.substr(end);
  for (int field = 0; field < kAfterName && !rest.empty(); ++field) {
    const std::size_t blank = rest.find(' ');
    rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
  }
  const auto time = number_at<std::uint64_t>(rest);
  if (!time) {
    return refused("the start time of the process cannot be read");
  }
  return *time;
}

Result<IdentifiedPeer> identify_peer(int socket, const PeerRules& rules) {
  ASSAY_ASSIGN(const ucred credential, credentials(socket));
  ASSAY_ASSIGN(Process process, process_behind(socket, rules));
  ASSAY_ASSIGN(const std::string groups,
               read_proc(rules.proc + "/" + std::to_string(process.pid) + "/cgroup"));
  if (!is_alive(process.pidfd.get())) {
    return refused("the process that connected has ended");
  }
  ASSAY_ASSIGN(const auto place, place_of_process(groups));
  Peer peer{process.pid, credential.uid, {}, {}};
  if (place) {
    peer.pod = place->pod;
    peer.container = place->container;
  } else if (std::ranges::find(rules.uids, peer.uid) == rules.uids.end()) {
    return refused("the process runs in no pod, and its user may not register");
  }
  return IdentifiedPeer{std::move(peer), std::move(process.pidfd)};
}

}  // namespace assay::worker
