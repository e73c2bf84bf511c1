// SPDX-License-Identifier: Apache-2.0
// A hashing engine (gpu_hash::Engine) that exists only while it is needed. The node agent therefore
// has no context on a device while nothing is hashed on that device.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "gpu_hash/engine.h"

namespace assay::worker {

// Thread-safe. Hashes host memory and files. Importing memory fails with invalid-parameter.
class EngineOnDemand final : public gpu_hash::Engine {
 public:
  using Make = std::function<Result<std::unique_ptr<gpu_hash::Engine>>()>;

  // Calls `make` to make the engine. The engine is destroyed when it was not used for `linger`, and
  // `make`, which must make the same engine each time, is called again at the next use. Errors:
  // those of `make`.
  [[nodiscard]] static Result<std::unique_ptr<EngineOnDemand>> create(
      Make make, std::chrono::milliseconds linger = std::chrono::seconds(10));
  ~EngineOnDemand() override;

  [[nodiscard]] const gpu_hash::EngineInfo& info() const override { return info_; }
  // Errors: those of Engine::hash() and of `make`.
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash(
      std::span<const gpu_hash::Region> regions, const gpu_hash::HashRequest& request) override;
  [[nodiscard]] gpu_hash::DeriveRoom derive_room() const override { return room_; }
  [[nodiscard]] Result<gpu_hash::Derived> derive(const gpu_hash::DeriveRequest& derivation,
                                                 const gpu_hash::HashRequest& request) override;
  // Returns an engine that only describes the device (Engine::info()): its hash() fails with
  // invalid-parameter. Returns null when the engine does not have this device, or when `make`
  // fails.
  [[nodiscard]] gpu_hash::Engine* of_device(std::string_view uuid) override;
  // Returns true while the engine exists.
  [[nodiscard]] bool is_awake();

 private:
  EngineOnDemand(Make make, std::unique_ptr<gpu_hash::Engine> engine,
                 std::chrono::milliseconds linger);
  [[nodiscard]] Result<std::shared_ptr<gpu_hash::Engine>> wake();
  // Calls `use` with the engine, which stays until then.
  template <typename Use>
  [[nodiscard]] auto with_engine(const Use& use)
      -> decltype(use(std::declval<gpu_hash::Engine&>()));
  void rest(const std::stop_token& stop);

  const Make make_;
  const gpu_hash::EngineInfo info_;
  const gpu_hash::DeriveRoom room_;
  const std::chrono::milliseconds linger_;
  std::mutex mutex_;  // guards the members up to devices_
  std::condition_variable_any changed_;
  std::shared_ptr<gpu_hash::Engine> engine_;  // null: destroyed until the next use
  unsigned users_ = 0;
  std::chrono::steady_clock::time_point used_{};
  std::map<std::string, std::unique_ptr<gpu_hash::Engine>, std::less<>> devices_;  // by UUID
  std::jthread thread_;  // last: it uses the others
};

}  // namespace assay::worker
