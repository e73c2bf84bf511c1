// SPDX-License-Identifier: Apache-2.0
// One engine for several checks: each waits for its turn in a way that its end interrupts, and says
// that it gets on.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <utility>

#include "gpu_hash/engine.h"

namespace assay::worker {

// Who uses the engine. Thread-safe.
class Turn {
 public:
  using Progress = std::function<void()>;

  // Calls `use` while nobody else has the turn. Whoever waits gets on when the one before does:
  // `waits` is called then. Errors: cancelled when `stop` is requested before; those of `use`.
  template <typename Use>
  [[nodiscard]] auto take(const std::stop_token& stop, const Progress& waits, const Use& use)
      -> decltype(use()) {
    if (!wait(stop, waits)) {
      return fail(ErrorCode::kCancelled, "the work was stopped on request");
    }
    const Release release{*this};
    return use();
  }
  // Whoever has the turn gets on.
  void progress();

 private:
  struct Release {
    Turn& turn;
    ~Release() { turn.release(); }
  };

  // False when `stop` is requested before.
  [[nodiscard]] bool wait(const std::stop_token& stop, const Progress& waits);
  void release();

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool taken_ = false;
  std::set<const Progress*> waiting_;
};

// The engine as one check uses it.
class EngineInTurn final : public gpu_hash::Engine {
 public:
  // All outlive this. `progress` is called now and then while the engine works, by its threads.
  EngineInTurn(gpu_hash::Engine& engine, Turn& turn, std::stop_token stop,
               std::function<void()> progress)
      : engine_(engine), turn_(turn), stop_(std::move(stop)), progress_(std::move(progress)) {}

  [[nodiscard]] const gpu_hash::EngineInfo& info() const override { return engine_.info(); }
  [[nodiscard]] gpu_hash::Imports imports() const override { return engine_.imports(); }
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash(
      std::span<const gpu_hash::Region> regions, const gpu_hash::HashRequest& request) override;
  [[nodiscard]] Result<std::shared_ptr<const gpu_hash::DeviceMemory>> import_memory(
      Descriptor fd, std::uint64_t size) override;
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash_tagged(
      std::span<const gpu_hash::Region> regions, const gpu_hash::HashRequest& request,
      const gpu_hash::TagKey& key, std::vector<std::vector<Digest>>& tags) override;
  [[nodiscard]] Result<std::vector<std::vector<Digest>>> tags(
      std::span<const gpu_hash::Region> regions, const gpu_hash::HashRequest& request,
      const gpu_hash::TagKey& key) override;

 private:
  [[nodiscard]] gpu_hash::HashRequest with_progress(gpu_hash::HashRequest request) const;
  void get_on() const;

  gpu_hash::Engine& engine_;
  Turn& turn_;
  std::stop_token stop_;
  std::function<void()> progress_;
};

}  // namespace assay::worker
