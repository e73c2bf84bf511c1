// SPDX-License-Identifier: Apache-2.0
// Blocks are cut into parts, so that many threads fill one block.
#include "gpu_hash/opencl/block_filler.h"

#include <utility>

namespace assay::gpu_hash {
namespace {

// The part of a block that a thread fills at a time: a block has parts for many threads, and they
// stay in their caches.
constexpr std::uint64_t kPart = std::uint64_t{512} << 10;  // bytes

}  // namespace

BlockFiller::BlockFiller(const std::stop_token& stop, unsigned threads) : stop_(stop) {
  for (unsigned i = 0; i < std::max(threads, 1U); ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

BlockFiller::~BlockFiller() {
  {
    const std::scoped_lock lock(mutex_);
    end_ = true;
  }
  wake_.notify_all();
}

unsigned BlockFiller::useful_threads(unsigned threads, std::uint64_t bytes) {
  return static_cast<unsigned>(std::min<std::uint64_t>(threads, (bytes + kPart - 1) / kPart));
}

void BlockFiller::post(Fill fill, std::uint64_t begin, std::span<std::uint8_t> block) {
  {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t parts = (block.size() + kPart - 1) / kPart;
    blocks_.push_back({std::move(fill), begin, block, 0, parts, parts});
  }
  wake_.notify_all();
}

Status BlockFiller::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return blocks_.front().missing == 0; });
  blocks_.pop_front();
  return error_ ? Status(std::unexpected(*error_)) : Status{};
}

// The first block with work; nullptr when there is none.
BlockFiller::Block* BlockFiller::next_block() {
  for (Block& block : blocks_) {
    if (block.next < block.parts) {
      return &block;
    }
  }
  return nullptr;
}

void BlockFiller::work() {
  PieceReader reader;
  std::unique_lock lock(mutex_);
  for (;;) {
    Block* block = nullptr;
    wake_.wait(lock, [&] { return end_ || (block = next_block()) != nullptr; });
    if (end_) {
      return;
    }
    // Addresses in a deque stay while its ends change, and this block stays while parts of it are
    // missing.
    const std::uint64_t part = block->next++;
    const bool skip = error_.has_value();
    lock.unlock();
    Status status = skip ? Status{} : fill(reader, *block, part);
    lock.lock();
    if (!status && !error_) {
      error_ = std::move(status).error();
    }
    if (--block->missing == 0) {
      done_.notify_one();
    }
  }
}

Status BlockFiller::fill(PieceReader& reader, const Block& block, std::uint64_t part) const {
  if (stop_.stop_requested()) {
    return fail(ErrorCode::kCancelled, "hashing was stopped on request");
  }
  const std::span<std::uint8_t> out = block.memory.subspan(
      part * kPart, std::min<std::uint64_t>(kPart, block.memory.size() - part * kPart));
  return block.fill(reader, block.begin + part * kPart, out);
}

}  // namespace assay::gpu_hash
