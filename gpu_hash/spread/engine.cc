// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/spread/engine.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "gpu_hash/tags.h"
#include "gpu_hash/tree/fold.h"
#include "gpu_hash/workers.h"

namespace assay::gpu_hash {
namespace {

// A member's memory, with the member.
class SpreadMemory final : public DeviceMemory {
 public:
  SpreadMemory(const SpreadEngine* engine, MemoryHome home)
      : engine_(engine), home_(std::move(home)) {}
  [[nodiscard]] std::uint64_t size() const override { return home_.memory->size(); }
  [[nodiscard]] const SpreadEngine* engine() const { return engine_; }
  [[nodiscard]] const MemoryHome& home() const { return home_; }

 private:
  const SpreadEngine* engine_;
  MemoryHome home_;
};

// Equal neighbours are counted: "2 x NVIDIA H200, pthread-zen".
std::string list_names(const std::vector<std::string>& names) {
  std::string text;
  for (auto begin = names.begin(); begin != names.end();) {
    const auto end =
        std::find_if(begin, names.end(), [&](const std::string& name) { return name != *begin; });
    text += text.empty() ? "" : ", ";
    text += end - begin > 1 ? std::to_string(end - begin) + " x " + *begin : *begin;
    begin = end;
  }
  return text;
}

EngineInfo describe(const std::vector<std::unique_ptr<Engine>>& members) {
  constexpr std::string_view kOpenCl = "opencl:";
  EngineInfo info = members.front()->info();
  std::vector<std::string> devices = {info.device};
  std::vector<std::string> drivers = {info.driver};
  for (std::size_t i = 1; i < members.size(); ++i) {
    const EngineInfo& other = members[i]->info();
    info.id += ",";
    info.id +=
        std::string_view(other.id).substr(other.id.starts_with(kOpenCl) ? kOpenCl.size() : 0);
    devices.push_back(other.device);
    if (std::ranges::find(drivers, other.driver) == drivers.end()) {
      drivers.push_back(other.driver);
    }
    if (other.kernel_digest != info.kernel_digest) {
      info.kernel_digest.reset();
    }
  }
  if (members.size() > 1) {  // none of them alone
    info.uuid.clear();
    info.pci.clear();
  }
  info.device = list_names(devices);
  info.driver = list_names(drivers);
  return info;
}

}  // namespace

// One call, shared by the threads of the members.
class SpreadEngine::Call {
 public:
  // What is borrowed must outlive the call; `unit` is not below the chunk size.
  Call(std::span<const std::unique_ptr<Engine>> members, std::uint64_t unit,
       std::span<const std::uint64_t> sizes, std::vector<SpreadPart> parts,
       const HashRequest& request, Work work, const TagKey* key)
      : members_(members),
        unit_(unit),
        parts_(std::move(parts)),
        request_(request),
        work_(work),
        key_(key),
        shares_(members.size()),
        table_(parts_, sizes, request),
        tags_(parts_.size()) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].member) {
        shares_[*parts_[i].member].own.push_back(i);
      } else {
        queue_.push_back(i);
        left_ += weight(parts_[i]);
      }
    }
  }

  Result<Answer> run(std::size_t regions) {
    const std::stop_callback link(request_.stop, [this] { halt_.request_stop(); });
    std::atomic<std::size_t> next = 0;
    run_on_threads(useful_threads(), [&] {
      // More than one when there are fewer threads than members.
      for (std::size_t member = next++; member < members_.size(); member = next++) {
        work(member);
      }
    });
    if (error_) {
      return std::unexpected(std::move(*error_));
    }
    Answer answer;
    if (work_ != Work::kTags) {
      ASSAY_ASSIGN(answer.digests, table_.take());
    }
    if (work_ != Work::kHash) {
      answer.tags.resize(regions);
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        std::vector<Digest>& tags = answer.tags[parts_[i].region];
        tags.insert(tags.end(), tags_[i].begin(), tags_[i].end());
      }
    }
    return answer;
  }

 private:
  // Of one member.
  struct Share {
    std::vector<std::size_t> own;  // parts that only this member can hash
    std::uint64_t finished = 0;    // bytes of the calls that have ended
    std::uint64_t told = 0;        // bytes, those of the present call included
  };

  // What a part counts when work is shared out: a short chunk takes as long as a whole one.
  [[nodiscard]] std::uint64_t weight(const SpreadPart& part) const {
    return std::max<std::uint64_t>(part.size, request_.parameters.chunk_size);
  }

  [[nodiscard]] unsigned useful_threads() const {
    const auto owners =
        std::ranges::count_if(shares_, [](const Share& share) { return !share.own.empty(); });
    return static_cast<unsigned>(
        std::max(static_cast<std::size_t>(owners), std::min(members_.size(), queue_.size())));
  }

  // Works until nothing is left for this member or something failed.
  void work(std::size_t member) {
    for (auto batch = take(member); !batch.empty(); batch = take(member)) {
      auto answer = ask(member, batch);
      const Status status = answer ? deliver(member, batch, std::move(*answer))
                                   : Status(std::unexpected(std::move(answer).error()));
      if (!status) {
        fail_with(status.error());
      }
    }
  }

  // Numbers of the parts that the member does next; empty when there are none.
  std::vector<std::size_t> take(std::size_t member) {
    const std::scoped_lock lock(mutex_);
    if (!error_ && halt_.stop_requested()) {
      error_ = Error{ErrorCode::kCancelled, "hashing was stopped on request", {}};
    }
    if (error_) {
      return {};
    }
    std::vector<std::size_t> batch = std::exchange(shares_[member].own, {});
    const std::uint64_t share = std::max(unit_, left_ / (2 * members_.size()));
    std::uint64_t taken = 0;
    for (; taken < share && next_ < queue_.size(); ++next_) {
      taken += weight(parts_[queue_[next_]]);
      batch.push_back(queue_[next_]);
    }
    left_ -= taken;
    return batch;
  }

  Result<Answer> ask(std::size_t member, const std::vector<std::size_t>& batch) {
    std::vector<Region> regions;
    regions.reserve(batch.size());
    for (const std::size_t number : batch) {
      regions.push_back(std::move(parts_[number].bytes));
    }
    HashRequest request{request_.parameters, request_.outline_span, {}, halt_.get_token()};
    if (request_.progress) {
      request.progress = [this, member](std::uint64_t done) {
        const std::scoped_lock lock(mutex_);
        tell(member, done);
      };
    }
    Engine& engine = *members_[member];
    Answer answer;
    if (work_ == Work::kHash) {
      ASSAY_ASSIGN(answer.digests, engine.hash(regions, request));
    } else if (work_ == Work::kHashAndTags) {
      ASSAY_ASSIGN(answer.digests, engine.hash_tagged(regions, request, *key_, answer.tags));
    } else {
      ASSAY_ASSIGN(answer.tags, engine.tags(regions, request, *key_));
    }
    return answer;
  }

  Status deliver(std::size_t member, const std::vector<std::size_t>& batch, Answer answer) {
    if ((work_ != Work::kTags && answer.digests.size() != batch.size()) ||
        (work_ != Work::kHash && answer.tags.size() != batch.size())) {
      return fail(ErrorCode::kInternal, "an engine gave results for other regions");
    }
    const std::scoped_lock lock(mutex_);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      bytes += parts_[batch[i]].size;
      if (work_ != Work::kTags) {
        ASSAY_TRY(table_.add(batch[i], std::move(answer.digests[i])));
      }
      if (work_ != Work::kHash) {
        tags_[batch[i]] = std::move(answer.tags[i]);
      }
    }
    tell(member, bytes);
    shares_[member].finished += bytes;
    return {};
  }

  // `bytes` of the member's present call are done. Under mutex_, so that there is one call of
  // `progress` at a time and the sum never falls.
  void tell(std::size_t member, std::uint64_t bytes) {
    Share& share = shares_[member];
    const std::uint64_t done = share.finished + bytes;
    if (error_ || done <= share.told) {
      return;
    }
    told_ += done - std::exchange(share.told, done);
    if (request_.progress) {
      request_.progress(told_);
    }
  }

  // The first error counts. Those that stop after it say that they were cancelled.
  void fail_with(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) {
      error_ = error;
      halt_.request_stop();
    }
  }

  std::span<const std::unique_ptr<Engine>> members_;
  std::uint64_t unit_;
  std::vector<SpreadPart> parts_;
  const HashRequest& request_;
  Work work_;
  const TagKey* key_;
  std::stop_source halt_;
  std::vector<std::size_t> queue_;  // parts for anyone
  std::mutex mutex_;                // guards what follows
  std::vector<Share> shares_;       // by member
  std::size_t next_ = 0;            // in queue_
  std::uint64_t left_ = 0;          // weight of what nobody has taken
  std::uint64_t told_ = 0;          // bytes
  SpreadTable table_;
  std::vector<std::vector<Digest>> tags_;  // by part
  std::optional<Error> error_;
};

SpreadEngine::SpreadEngine(std::vector<std::unique_ptr<Engine>> members, std::uint64_t unit)
    : members_(std::move(members)),
      unit_(std::bit_floor(std::max<std::uint64_t>(unit, 1))),
      info_(describe(members_)) {}

Result<std::unique_ptr<SpreadEngine>> SpreadEngine::create(
    std::vector<std::unique_ptr<Engine>> members, std::uint64_t unit) {
  if (members.empty()) {
    return fail(ErrorCode::kInvalidParameter, "there is no engine to spread objects over");
  }
  return std::unique_ptr<SpreadEngine>(new SpreadEngine(std::move(members), unit));
}

// Equal devices share a cache of programs. The first one fills it, or all would build and tune the
// same kernels at the same time, and compilers take one at a time.
Status SpreadEngine::prepare(HashAlgorithm algorithm) {
  const std::scoped_lock lock(prepare_mutex_);
  bool& prepared = prepared_[algorithm == HashAlgorithm::kSha256 ? 0 : 1];
  if (!prepared && members_.size() > 1) {
    HashRequest request;
    request.parameters.hash = algorithm;
    ASSAY_TRY(members_.front()->hash({}, request));
    prepared = true;
  }
  return {};
}

Result<MemoryHome> SpreadEngine::home_of(const std::shared_ptr<const DeviceMemory>& memory) const {
  const auto* own = dynamic_cast<const SpreadMemory*>(memory.get());
  if (own == nullptr || own->engine() != this) {
    return fail(ErrorCode::kInvalidParameter,
                "device memory can only be hashed by the engine of its device");
  }
  return own->home();
}

Result<SpreadEngine::Answer> SpreadEngine::run(std::span<const Region> regions,
                                               const HashRequest& request, Work work,
                                               const TagKey* key) {
  ASSAY_TRY(check(request));
  ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(regions));
  const std::uint64_t unit = std::max<std::uint64_t>(unit_, request.parameters.chunk_size);
  ASSAY_ASSIGN(std::vector<SpreadPart> parts,
               plan_parts(regions, sizes, request.parameters.chunk_size, unit,
                          [this](const auto& memory) { return home_of(memory); }));
  if (work != Work::kHash && (parts.empty() || !parts.front().member)) {
    return fail(ErrorCode::kInvalidParameter, "tags are for device memory");
  }
  ASSAY_TRY(prepare(request.parameters.hash));
  return Call(members_, unit, sizes, std::move(parts), request, work, key).run(regions.size());
}

Result<std::vector<ObjectDigests>> SpreadEngine::hash(std::span<const Region> regions,
                                                      const HashRequest& request) {
  ASSAY_ASSIGN(Answer answer, run(regions, request, Work::kHash, nullptr));
  return std::move(answer.digests);
}

Result<std::vector<ObjectDigests>> SpreadEngine::hash_tagged(
    std::span<const Region> regions, const HashRequest& request, const TagKey& key,
    std::vector<std::vector<Digest>>& tags) {
  ASSAY_ASSIGN(Answer answer, run(regions, request, Work::kHashAndTags, &key));
  tags = std::move(answer.tags);
  return std::move(answer.digests);
}

Result<std::vector<std::vector<Digest>>> SpreadEngine::tags(std::span<const Region> regions,
                                                            const HashRequest& request,
                                                            const TagKey& key) {
  ASSAY_ASSIGN(Answer answer, run(regions, request, Work::kTags, &key));
  return std::move(answer.tags);
}

Engine* SpreadEngine::of_device(std::string_view uuid) {
  for (const std::unique_ptr<Engine>& member : members_) {
    if (Engine* const found = member->of_device(uuid)) {
      return found;
    }
  }
  return nullptr;
}

Result<std::shared_ptr<const DeviceMemory>> SpreadEngine::import_memory(Descriptor fd,
                                                                        std::uint64_t size) {
  if (members_.size() != 1) {
    return fail(ErrorCode::kInvalidParameter,
                info_.device + ": memory lies on one of several devices, which must be named");
  }
  return import_memory(0, std::move(fd), size);
}

Result<std::shared_ptr<const DeviceMemory>> SpreadEngine::import_memory(std::size_t index,
                                                                        Descriptor fd,
                                                                        std::uint64_t size) {
  if (index >= members_.size()) {
    return fail(ErrorCode::kInvalidParameter,
                "there are " + std::to_string(members_.size()) + " devices, from 0");
  }
  ASSAY_ASSIGN(std::shared_ptr<const DeviceMemory> memory,
               members_[index]->import_memory(std::move(fd), size));
  return memory_of(index, std::move(memory));
}

std::shared_ptr<const DeviceMemory> SpreadEngine::memory_of(
    std::size_t index, std::shared_ptr<const DeviceMemory> memory) const {
  return std::make_shared<SpreadMemory>(this, MemoryHome{index, std::move(memory)});
}

}  // namespace assay::gpu_hash
