// SPDX-License-Identifier: Apache-2.0
// The Unix socket at which processes register their memory (docs/instances.md).
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "schemas/posix/descriptor.h"
#include "worker/instances/connection.h"

namespace assay::worker {

class InstanceListener {
 public:
  // Listens at `path`, an absolute path in a directory that exists; any user may connect. Replaces
  // a socket that exists at `path`, unless another node agent holds the lock on the file
  // `path`.lock. Serves each connection at once, in a thread of its own. `shared` must outlive the
  // listener.
  // Errors: usage when the path is too long for a socket or names a file that is not a socket, when
  // another node agent listens there, or when a socket or the lock cannot be made in the directory.
  [[nodiscard]] static Result<std::unique_ptr<InstanceListener>> open(const std::string& path,
                                                                      InstanceShared& shared);
  // Ends all connections, and removes the socket.
  ~InstanceListener();
  InstanceListener(const InstanceListener&) = delete;
  InstanceListener& operator=(const InstanceListener&) = delete;

 private:
  struct Served {
    std::unique_ptr<Connection> connection;
    std::atomic<bool> over = false;
    std::jthread thread{};
  };

  InstanceListener(Descriptor lock, Descriptor socket, Descriptor wake, std::string path,
                   InstanceShared& shared);
  void accept_all();
  void serve(Descriptor socket);
  void reap();

  const Descriptor lock_;
  const Descriptor socket_;
  const Descriptor wake_;  // readable when a connection is over or the listener ends
  std::atomic<bool> ending_ = false;
  const std::string path_;
  InstanceShared& shared_;
  std::list<Served> served_;  // used by thread_ until it ends
  std::jthread thread_;       // last: it uses the others
};

}  // namespace assay::worker
