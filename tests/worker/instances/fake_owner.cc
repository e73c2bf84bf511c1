// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/instances/fake_owner.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>

#include <gtest/gtest.h>

#include "gpu_hash/dispatch.h"
#include "gpu_hash/drivers.h"
#include "tests/worker/instances/memory_seals.h"

namespace assay::worker::test {

MemoryFile::MemoryFile(ByteView bytes, int seals) : MemoryFile(bytes.size(), seals) {
  std::ranges::copy(bytes, memory_);
}

MemoryFile::MemoryFile(std::size_t size, int seals)
    : fd_(::memfd_create("weights", MFD_CLOEXEC | MFD_ALLOW_SEALING)), size_(size) {
  EXPECT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(size_)), 0);
  memory_ = static_cast<std::uint8_t*>(
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
  EXPECT_NE(static_cast<void*>(memory_), MAP_FAILED);
  const int wanted = seals >= 0 ? seals : kOwnerSeals;
  EXPECT_EQ(::fcntl(fd_.get(), F_ADD_SEALS, wanted), 0);
}

MemoryFile::~MemoryFile() { ::munmap(memory_, size_); }

Descriptor MemoryFile::share() const { return Descriptor(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)); }

FakeOwner::FakeOwner(const ArtifactId& artifact, std::uint64_t rank, std::uint64_t world)
    : registration_{.artifact = artifact,
                    .instance = "main",
                    .rank = rank,
                    .world = world,
                    .device = {},
                    .pieces = {},
                    .tensors = {}} {}

std::uint64_t FakeOwner::add_piece(PieceKind kind, ByteView bytes) {
  const std::scoped_lock lock(mutex_);
  registration_.pieces.push_back(
      {bytes.size(), kind, kind == PieceKind::kStaged ? "cudaMalloc" : ""});
  Memory memory;
  if (kind == PieceKind::kStaged) {
    memory.bytes.assign(bytes.begin(), bytes.end());
    registration_.window = kStagingWindow;
    if (!window_) {
      window_ = std::make_unique<MemoryFile>(kStagingWindow);
    }
  } else {
    memory.file = std::make_unique<MemoryFile>(bytes);
  }
  memory_.push_back(std::move(memory));
  return memory_.size() - 1;
}

void FakeOwner::add_tensor(const std::string& name, const std::vector<InstancePart>& parts) {
  std::uint64_t size = 0;
  for (const InstancePart& part : parts) {
    size += part.size;
  }
  registration_.tensors.push_back({{name}, "U8", {size}, parts});
}

void FakeOwner::add(const std::string& name, ByteView bytes, PieceKind kind) {
  const std::uint64_t piece = add_piece(kind, bytes);
  add_tensor(name, {{piece, 0, bytes.size()}});
}

void FakeOwner::flip(std::uint64_t piece, std::uint64_t offset) {
  const std::scoped_lock lock(mutex_);
  Memory& memory = memory_.at(piece);
  (memory.file ? memory.file->memory() : memory.bytes.data())[offset] ^= 1;
}

void FakeOwner::replace(std::uint64_t piece, ByteView bytes) {
  const std::scoped_lock lock(mutex_);
  memory_.at(piece).file = std::make_unique<MemoryFile>(bytes);
}

void FakeOwner::hand_out(std::uint64_t piece, std::function<Descriptor()> make) {
  const std::scoped_lock lock(mutex_);
  memory_.at(piece).make = std::move(make);
}

std::uint64_t FakeOwner::exported() {
  const std::scoped_lock lock(mutex_);
  return exported_;
}

std::size_t FakeOwner::largest_export() {
  const std::scoped_lock lock(mutex_);
  return largest_;
}

void FakeOwner::await(InstanceState state) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_ == state; });
}

std::vector<Finding> FakeOwner::told() {
  const std::scoped_lock lock(mutex_);
  return findings_;
}

Result<std::vector<Descriptor>> FakeOwner::export_pieces(std::span<const std::uint64_t> pieces) {
  on_call_();
  if (ended_.stop_requested()) {
    return fail(ErrorCode::kCancelled, "the owner took its memory back");
  }
  const std::scoped_lock lock(mutex_);
  exported_ += pieces.size();
  largest_ = std::max(largest_, pieces.size());
  std::vector<Descriptor> fds;
  for (const std::uint64_t piece : pieces) {
    const Memory& memory = memory_.at(piece);
    fds.push_back(memory.make ? memory.make() : memory.file->share());
  }
  return fds;
}

Status FakeOwner::stage(std::uint64_t piece, std::uint64_t offset, std::uint64_t size,
                        const std::function<Status()>& use) {
  on_call_();
  if (ended_.stop_requested()) {
    return fail(ErrorCode::kCancelled, "the owner took its memory back");
  }
  EXPECT_LE(size, kStagingWindow);
  const std::scoped_lock staging(staging_);
  {
    const std::scoped_lock lock(mutex_);
    std::ranges::copy(ByteView(memory_.at(piece).bytes).subspan(offset, size), window_->memory());
  }
  return use();
}

void FakeOwner::tell(InstanceState state, std::span<const Finding> findings) {
  {
    const std::scoped_lock lock(mutex_);
    state_ = state;
    findings_.assign(findings.begin(), findings.end());
  }
  changed_.notify_all();
  on_told_(state);
}

void FakeOwner::yielded(std::uint64_t slices, std::chrono::milliseconds next) {
  const std::scoped_lock lock(mutex_);
  yielded_.emplace_back(slices, next);
  changed_.notify_all();
}

std::pair<std::uint64_t, std::chrono::milliseconds> FakeOwner::await_yielded() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !yielded_.empty(); });
  const auto answer = yielded_.front();
  yielded_.erase(yielded_.begin());
  return answer;
}

std::uint64_t* FakeOwner::share_hints() {
  Bytes bytes(kHintsPage);
  std::memcpy(bytes.data(), "ASSAYHNT\1", 9);
  page_ = std::make_unique<MemoryFile>(bytes);
  hints_ = HintsPage::map(page_->share()).value();
  return reinterpret_cast<std::uint64_t*>(page_->memory());
}

std::vector<std::shared_ptr<Owner>> FakeInstances::find(std::string_view pod,
                                                        std::string_view instance) {
  std::vector<std::shared_ptr<Owner>> found;
  for (const std::shared_ptr<Owner>& owner : owners_) {
    if (owner->peer().pod == pod && owner->registration().instance == instance) {
      found.push_back(owner);
    }
  }
  return found;
}

Bytes some_bytes(std::size_t size, std::uint64_t seed) {
  Bytes bytes(size);
  std::uint64_t x = seed * 0x9E3779B97F4A7C15U + 1;
  for (std::uint8_t& byte : bytes) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::uint8_t>(x >> 56);
  }
  return bytes;
}

Manifest manifest_of(const std::vector<NamedBytes>& tensors) {
  static const std::unique_ptr<gpu_hash::Engine> engine =
      gpu_hash::make_engine(gpu_hash::drivers_in_this_process(),
                            {gpu_hash::DeviceChoice::Kind::kCpu, {}, {}})
          .value();
  Manifest manifest;
  manifest.name = "acme/llm";
  std::uint64_t offset = 8;
  for (const NamedBytes& tensor : tensors) {
    const gpu_hash::Region region = gpu_hash::host_region(tensor.bytes);
    const Digest root =
        engine->hash({&region, 1}, {manifest.artifact.parameters, 0, {}, {}}).value().at(0).root;
    manifest.artifact.entries.emplace_back(TensorEntry{tensor.name,
                                                       "U8",
                                                       {tensor.bytes.size()},
                                                       "model.safetensors",
                                                       offset,
                                                       tensor.bytes.size(),
                                                       root});
    offset += tensor.bytes.size();
  }
  sort_entries(manifest.artifact.entries);
  return manifest;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator list("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(list), end(list)));
}

}  // namespace assay::worker::test
