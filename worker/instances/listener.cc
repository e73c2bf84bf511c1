// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/listener.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace assay::worker {
namespace {

constexpr int kBacklog = 64;
constexpr mode_t kAnyUser = 0666;
// How long to wait before the next try when no connection can be accepted, for want of descriptors
// say.
constexpr int kPauseMs = 100;
// Connections beyond the limit that are refused at once. Further ones wait to be accepted.
constexpr std::uint64_t kRefused = 16;

std::unexpected<Error> unusable(const std::string& path, const std::string& why) {
  return fail(ErrorCode::kUsage, why, path);
}

// Held by whoever listens at `path`, and given up by the system when that process ends.
Result<Descriptor> lock_path(const std::string& path) {
  Descriptor lock(
      ::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) {
    return unusable(
        path, std::string("the directory of the socket cannot be used: ") + std::strerror(errno));
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return unusable(path, "another node agent listens there");
  }
  return lock;
}

Status remove_left_behind(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    return {};
  }
  if (!S_ISSOCK(status.st_mode) || ::unlink(path.c_str()) != 0) {
    return unusable(path, "another file is where the socket is to be");
  }
  return {};
}

Result<Descriptor> listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return unusable(path, "the path of a socket has at most 107 bytes");
  }
  std::memcpy(static_cast<char*>(address.sun_path), path.data(), path.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::chmod(path.c_str(), kAnyUser) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return unusable(path, std::string("the socket cannot be made: ") + std::strerror(errno));
  }
  return socket;
}

}  // namespace

Result<std::unique_ptr<InstanceListener>> InstanceListener::open(const std::string& path,
                                                                 InstanceShared& shared) {
  ASSAY_ASSIGN(Descriptor lock, lock_path(path));
  ASSAY_TRY(remove_left_behind(path));
  ASSAY_ASSIGN(Descriptor socket, listen_at(path));
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) {
    return unusable(path, "the system has no more descriptors");
  }
  return std::unique_ptr<InstanceListener>(
      new InstanceListener(std::move(lock), std::move(socket), std::move(wake), path, shared));
}

InstanceListener::InstanceListener(Descriptor lock, Descriptor socket, Descriptor wake,
                                   std::string path, InstanceShared& shared)
    : lock_(std::move(lock)),
      socket_(std::move(socket)),
      wake_(std::move(wake)),
      path_(std::move(path)),
      shared_(shared),
      thread_([this] { accept_all(); }) {}

InstanceListener::~InstanceListener() {
  ending_ = true;
  (void)::eventfd_write(wake_.get(), 1);
  thread_.join();
  for (Served& served : served_) {
    served.connection->stop();
  }
  served_.clear();
  (void)::unlink(path_.c_str());
}

void InstanceListener::accept_all() {
  std::array<pollfd, 2> wait = {pollfd{wake_.get(), POLLIN, 0}, pollfd{socket_.get(), POLLIN, 0}};
  while (true) {
    (void)::poll(wait.data(), wait.size(), -1);
    if (wait[0].revents != 0) {
      eventfd_t count = 0;
      (void)::eventfd_read(wake_.get(), &count);
      if (ending_) {
        return;
      }
      reap();
    }
    if (wait[1].revents == 0) {
      continue;
    }
    reap();
    if (served_.size() >= shared_.limits.connections + kRefused) {
      (void)::poll(wait.data(), 1, kPauseMs);
      continue;
    }
    Descriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) {
      serve(std::move(socket));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      (void)::poll(wait.data(), 1, kPauseMs);
    }
  }
}

void InstanceListener::reap() {
  std::erase_if(served_, [](const Served& served) { return served.over.load(); });
}

void InstanceListener::serve(Descriptor socket) {
  const bool full = served_.size() >= shared_.limits.connections;
  Served& served = served_.emplace_back(std::make_unique<Connection>(std::move(socket), shared_));
  try {
    // A connection ends in its own thread, also one that is refused: that can wait (foreign.h).
    served.thread = std::jthread([this, full, &served] {
      if (full) {
        served.connection->refuse({ErrorCode::kOverloaded, "there are too many connections", {}});
      } else {
        served.connection->serve();
      }
      served.over = true;
      (void)::eventfd_write(wake_.get(), 1);
    });
  } catch (const std::system_error&) {
    served_.pop_back();  // no more threads
  }
}

}  // namespace assay::worker
