// SPDX-License-Identifier: Apache-2.0
// The processes that read memory for the node agent: for each device one for each pod, started when
// a check needs it. A pod that makes its process end does not end what reads the memory of others.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gpu_hash/engine.h"
#include "worker/instances/checks.h"
#include "worker/reader/reader.h"

namespace assay::worker {

// News about a full pass that a process made, for the operator.
struct PassNews {
  std::string device;
  std::uint64_t bytes;   // that were hashed
  std::uint64_t pieces;  // in which they lie
  PassTimes times;
};

struct ReadersSetup {
  std::string program = "/proc/self/exe";
  // Arguments of the process. The device's id is added as the last argument.
  std::vector<std::string> arguments{"worker", "reader"};
  std::string build{};
  ReaderTimes times{};
  // So many pods at a time have a process of their own for a device. Further pods share one more.
  std::size_t pods = 3;
  // After a process failed, the next one may start after `pause`, which doubles with each failure
  // up to `longest`. After a first failure, the next process may start at once.
  std::chrono::milliseconds pause{1'000};
  std::chrono::milliseconds longest{60'000};
  // Called by any thread.
  std::function<void(const ReaderNews&)> tell = [](const ReaderNews&) {};
  std::function<void(const PassNews&)> tell_pass = [](const PassNews&) {};
};

// Never reads memory itself: when no process can be started, start() fails with device-failed.
class Readers final : public Checks {
 public:
  // `engine` says which devices there are, and must outlive this object. Memory of the host is read
  // by a process with the same device or devices as `engine`.
  Readers(gpu_hash::Engine& engine, ReadersSetup setup);
  // Ends the processes that no check uses. Any other process lives until its last check is
  // destroyed.
  ~Readers() override;
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  [[nodiscard]] Result<std::unique_ptr<MemoryCheck>> start(std::shared_ptr<Owner> owner,
                                                           std::vector<std::size_t> tensors,
                                                           const CheckOptions& options) override;

 private:
  // Id of the device, and uid of the pod or kShared.
  using Key = std::pair<std::string, std::string>;
  // What is known about one process.
  struct Place {
    std::mutex mutex;  // guards what follows
    std::shared_ptr<Reader> reader;
    unsigned failures = 0;
    // Earliest time of the next start. The clock begins with the machine, so that its zero is no
    // time long ago.
    Steady::time_point not_before = Steady::time_point::min();
  };

  [[nodiscard]] Result<std::shared_ptr<Reader>> reader_of(const gpu_hash::EngineInfo& engine,
                                                          const std::string& pod);
  [[nodiscard]] std::shared_ptr<Place> place_of(const std::string& device, const std::string& pod);
  [[nodiscard]] std::shared_ptr<Reader> make(const gpu_hash::EngineInfo& engine,
                                             const std::shared_ptr<Place>& place) const;

  gpu_hash::Engine& engine_;
  const ReadersSetup setup_;
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Place>> places_;
};

}  // namespace assay::worker
