// SPDX-License-Identifier: Apache-2.0
#include "worker/engine_on_demand.h"

#include <utility>

namespace assay::worker {
namespace {

// One device of the engine, by name alone.
class NamedDevice final : public gpu_hash::Engine {
 public:
  explicit NamedDevice(gpu_hash::EngineInfo info) : info_(std::move(info)) {}
  [[nodiscard]] const gpu_hash::EngineInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::vector<gpu_hash::ObjectDigests>> hash(
      std::span<const gpu_hash::Region>, const gpu_hash::HashRequest&) override {
    return fail(ErrorCode::kInvalidParameter, "this process does not read memory of devices");
  }

 private:
  gpu_hash::EngineInfo info_;
};

}  // namespace

Result<std::unique_ptr<EngineOnDemand>> EngineOnDemand::create(Make make,
                                                               std::chrono::milliseconds linger) {
  ASSAY_ASSIGN(std::unique_ptr<gpu_hash::Engine> engine, make());
  return std::unique_ptr<EngineOnDemand>(
      new EngineOnDemand(std::move(make), std::move(engine), linger));
}

EngineOnDemand::EngineOnDemand(Make make, std::unique_ptr<gpu_hash::Engine> engine,
                               std::chrono::milliseconds linger)
    : make_(std::move(make)),
      info_(engine->info()),
      room_(engine->derive_room()),
      linger_(linger),
      engine_(std::move(engine)),
      used_(std::chrono::steady_clock::now()),
      thread_([this](const std::stop_token& stop) { rest(stop); }) {}

EngineOnDemand::~EngineOnDemand() = default;

bool EngineOnDemand::is_awake() {
  const std::scoped_lock lock(mutex_);
  return engine_ != nullptr;
}

// Gives the engine up when nobody has used it for a while.
void EngineOnDemand::rest(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (!engine_ || users_ > 0) {
      changed_.wait(lock, stop, [this] { return engine_ && users_ == 0; });
    } else if (std::chrono::steady_clock::now() < used_ + linger_) {
      changed_.wait_until(lock, stop, used_ + linger_, [] { return false; });
    } else {
      engine_.reset();
    }
  }
}

Result<std::shared_ptr<gpu_hash::Engine>> EngineOnDemand::wake() {
  if (!engine_) {
    ASSAY_ASSIGN(engine_, make_());
  }
  return engine_;
}

template <typename Use>
auto EngineOnDemand::with_engine(const Use& use)
    -> decltype(use(std::declval<gpu_hash::Engine&>())) {
  std::unique_lock lock(mutex_);
  ASSAY_ASSIGN(std::shared_ptr<gpu_hash::Engine> engine, wake());
  ++users_;
  lock.unlock();
  auto result = use(*engine);
  engine.reset();
  lock.lock();
  --users_;
  used_ = std::chrono::steady_clock::now();
  changed_.notify_all();
  return result;
}

Result<std::vector<gpu_hash::ObjectDigests>> EngineOnDemand::hash(
    std::span<const gpu_hash::Region> regions, const gpu_hash::HashRequest& request) {
  return with_engine([&](gpu_hash::Engine& engine) { return engine.hash(regions, request); });
}

Result<gpu_hash::Derived> EngineOnDemand::derive(const gpu_hash::DeriveRequest& derivation,
                                                 const gpu_hash::HashRequest& request) {
  return with_engine([&](gpu_hash::Engine& engine) { return engine.derive(derivation, request); });
}

gpu_hash::Engine* EngineOnDemand::of_device(std::string_view uuid) {
  const std::scoped_lock lock(mutex_);
  auto known = devices_.find(uuid);
  if (known == devices_.end()) {
    const auto engine = wake();
    used_ = std::chrono::steady_clock::now();
    changed_.notify_all();
    gpu_hash::Engine* const found = engine ? (*engine)->of_device(uuid) : nullptr;
    if (found == nullptr) {
      return nullptr;
    }
    known = devices_.emplace(uuid, std::make_unique<NamedDevice>(found->info())).first;
  }
  return known->second.get();
}

}  // namespace assay::worker
