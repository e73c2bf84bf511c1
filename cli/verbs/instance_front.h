// SPDX-License-Identifier: Apache-2.0
// The socket of `assay worker run` at which processes register the memory that holds their model
// (docs/instances.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "worker/events.h"
#include "worker/instances/listener.h"
#include "worker/instances/nvml.h"
#include "worker/instances/registry.h"
#include "worker/memory_watch.h"
#include "worker/parts.h"
#include "worker/reader/readers.h"
#include "worker/service.h"

namespace assay::cli {

// How what was verified is watched; empty: as worker::WatchPlan has it.
struct WatchOptions {
  std::string period{};
  std::optional<std::uint64_t> slices{};
  std::string full{};
  std::string check{};
  std::optional<std::uint64_t> share{};
  bool operator==(const WatchOptions&) const = default;
};

struct RegisterOptions {
  std::string socket;               // empty: nobody can register
  std::vector<std::string> uids{};  // user ids that may register from outside of every pod
  // Seconds without a word of a process that reads memory; absent: as worker::ReaderTimes has it.
  std::optional<std::uint64_t> reader_seconds{};
  WatchOptions watch{};
};

void add_register_options(const Command& verb, RegisterOptions& options);
// Checks the options. Errors: usage.
[[nodiscard]] Status check(const RegisterOptions& options);
// How the agent watches what was verified. Errors: usage.
[[nodiscard]] Result<worker::WatchPlan> watch_plan_of(const WatchOptions& options);
// The plan as the event `started` has it.
[[nodiscard]] Json watch_json(const worker::WatchPlan& plan);

// Reports registrations that come, change or go as events of the worker.
class InstanceEvents final : public worker::InstanceWatcher {
 public:
  explicit InstanceEvents(worker::Events& events) : events_(events) {}
  void came(const std::shared_ptr<worker::Owner>& owner) override;
  void asked(const std::shared_ptr<worker::Owner>&) override {}
  void changed(const std::shared_ptr<worker::Owner>& owner,
               std::span<const std::string> tensors) override;
  void gone(const worker::Owner& owner) override;
  void refused(const worker::Refusal& refusal) override;

 private:
  worker::Events& events_;
};

// Accepts registrations from its creation to its destruction.
struct InstanceFront {
  InstanceFront(const Context& context, worker::PeerRules rules, const worker::Parts& parts,
                worker::ReadersSetup reading, worker::Service sender,
                const worker::WatchPlan& plan);

  worker::Service service;  // only for heartbeats
  // These two outlive `memory`, whose threads use them to the end.
  worker::Readers readers;
  worker::Nvml driver{};
  InstanceEvents told;
  worker::MemoryWatch memory;
  worker::Registry registry;
  worker::InstanceShared shared;
  std::unique_ptr<worker::InstanceListener> listener{};  // last: it uses the others
};
// Opens the socket and sets Parts::instances, Parts::checks and Parts::watch of `parts`, which must
// not be used after the result is destroyed. Returns null when the options name no socket.
// `threads` is that of DeviceFlags. `service` is used only for heartbeats. Errors: usage.
[[nodiscard]] Result<std::unique_ptr<InstanceFront>> open_instance_front(
    const Context& context, const RegisterOptions& options, std::uint64_t threads,
    worker::Parts& parts, worker::Service service);

}  // namespace assay::cli
