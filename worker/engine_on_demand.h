// SPDX-License-Identifier: Apache-2.0
// An engine that is there only while it is needed, so that the node agent has no context on a
// device while nothing is hashed there.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "gpu_hash/engine.h"

namespace assay::worker {

// Thread-safe. Hashes host memory and files; imports nothing (invalid-parameter).
class EngineOnDemand final : public gpu_hash::Engine {
 public:
  using Make = std::function<Result<std::unique_ptr<gpu_hash::Engine>>()>;

  // `make` makes the same engine each time; it is called now, and again when the engine is needed
  // and was given up `linger` after its last use. Errors: of `make`.
  [[nodiscard]] static Result<std::unique_ptr<EngineOnDemand>> create(
      Make make, std::chrono::milliseconds linger = std::chrono::seconds(10));
  ~EngineOnDemand() override;

  [[nodiscard]] const gpu_hash::EngineInfo& info() const override { return info_; }
  // Errors: of Engine::hash() and of `make`.
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash(
      std::span<const gpu_hash::Region> regions, const gpu_hash::HashRequest& request) override;
  // What is returned says which device it is, and hashes nothing (invalid-parameter).
  [[nodiscard]] gpu_hash::Engine* of_device(std::string_view uuid) override;
  // True while the engine is there.
  [[nodiscard]] bool is_awake();

 private:
  EngineOnDemand(Make make, std::unique_ptr<gpu_hash::Engine> engine,
                 std::chrono::milliseconds linger);
  [[nodiscard]] Result<std::shared_ptr<gpu_hash::Engine>> wake();
  void rest(const std::stop_token& stop);

  const Make make_;
  const gpu_hash::EngineInfo info_;
  const std::chrono::milliseconds linger_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::shared_ptr<gpu_hash::Engine> engine_;  // null: given up
  unsigned users_ = 0;
  std::chrono::steady_clock::time_point used_{};
  std::map<std::string, std::unique_ptr<gpu_hash::Engine>, std::less<>> devices_;  // by UUID
  std::jthread thread_;  // last: it uses the others
};

}  // namespace assay::worker
