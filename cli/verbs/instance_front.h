// SPDX-License-Identifier: Apache-2.0
// The socket of `assay worker run` at which processes register their memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "worker/events.h"
#include "worker/instances/listener.h"
#include "worker/instances/nvml.h"
#include "worker/instances/registry.h"
#include "worker/memory_watch.h"
#include "worker/parts.h"
#include "worker/service.h"

namespace assay::cli {

struct RegisterOptions {
  std::string socket;               // empty: nobody can register
  std::vector<std::string> uids{};  // user ids that may register from outside of every pod
};

void add_register_options(const Command& verb, RegisterOptions& options);
// Errors: usage.
[[nodiscard]] Status check(const RegisterOptions& options);

// Tells as events who came and who went.
class InstanceEvents final : public worker::InstanceWatcher {
 public:
  explicit InstanceEvents(worker::Events& events) : events_(events) {}
  void came(const std::shared_ptr<worker::Owner>& owner) override;
  void asked(const std::shared_ptr<worker::Owner>&) override {}
  void changed(const std::shared_ptr<worker::Owner>& owner,
               std::span<const std::string> tensors) override;
  void gone(const worker::Owner& owner) override;

 private:
  worker::Events& events_;
};

// Serves registrations as long as it lives.
struct InstanceFront {
  InstanceFront(const Context& context, worker::PeerRules rules, const worker::Parts& parts,
                worker::Service sender);

  worker::Service service;  // of heartbeats alone
  InstanceEvents told;
  worker::MemoryWatch memory;
  worker::Registry registry;
  worker::Nvml driver{};
  worker::InstanceShared shared;
  std::unique_ptr<worker::InstanceListener> listener{};  // last: it uses the others
};
// Returns null when no socket is asked for; else lets `parts` find what registers and watch it.
// `service` is for heartbeats. Errors: usage.
[[nodiscard]] Result<std::unique_ptr<InstanceFront>> open_instance_front(
    const Context& context, const RegisterOptions& options, worker::Parts& parts,
    worker::Service service);

}  // namespace assay::cli
