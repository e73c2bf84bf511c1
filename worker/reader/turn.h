// SPDX-License-Identifier: Apache-2.0
// Lets several checks use one engine in turn. A stop request ends the wait for a turn, and a check
// that waits still reports progress as long as the check that has the turn does.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <utility>

#include "gpu_hash/engine.h"

namespace assay::worker {

// The right to use the engine, which one thread at a time has. Threads get it in the order in which
// they ask, so a check that takes turn after turn cannot keep the others out. Thread-safe.
class Turn {
 public:
  using Progress = std::function<void()>;

  // Waits for the turn, and calls `use` while this thread has it. During the wait, `waits` is
  // called whenever the thread that has the turn calls progress(). Errors: cancelled when `stop` is
  // requested before the turn comes; those of `use`.
  template <typename Use>
  [[nodiscard]] auto take(const std::stop_token& stop, const Progress& waits, const Use& use)
      -> decltype(use()) {
    if (!wait(stop, waits)) {
      return fail(ErrorCode::kCancelled, "the work was stopped on request");
    }
    const Release release{*this};
    return use();
  }
  // Says that the work of the thread that has the turn makes progress.
  void progress();

 private:
  struct Release {
    Turn& turn;
    ~Release() { turn.release(); }
  };

  // Returns false when `stop` is requested before the turn comes.
  [[nodiscard]] bool wait(const std::stop_token& stop, const Progress& waits);
  void release();

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool taken_ = false;
  std::list<const Progress*> waiting_;  // the first is next
};

// The engine as one check uses it.
class EngineInTurn final : public gpu_hash::Engine {
 public:
  // `engine` and `turn` must outlive this object. Threads of the engine call `progress` from time
  // to time while the engine works for this check; so do others while this check waits
  // (Turn::take()).
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
