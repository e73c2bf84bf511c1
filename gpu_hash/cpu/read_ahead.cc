// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cpu/read_ahead.h"

#include <algorithm>
#include <system_error>

#include "gpu_hash/workers.h"

namespace assay::gpu_hash {

std::uint8_t* BlockMemory::block(std::size_t slot) {
  if (!memory_) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): no other way to aligned memory
    memory_.reset(new (std::align_val_t{DirectBuffer::kUnit}) std::uint8_t[kBlock * kBlocks]);
  }
  return memory_.get() + slot * kBlock;
}

BlockReader::BlockReader(const SourceFile& file, std::uint64_t begin, std::uint64_t end,
                         BlockMemory& memory)
    : file_(file), memory_(memory), at_(begin), end_(end) {}

BlockReader::~BlockReader() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
}

Status BlockReader::open() {
  if (open_ == nullptr) {
    ASSAY_ASSIGN(open_, file_.open());
  }
  return {};
}

// Returns the number of bytes; 0 at the end.
Result<std::size_t> BlockReader::read_into(std::size_t slot) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, end_ - at_));
  if (size == 0) {
    return 0;
  }
  const std::span<std::uint8_t> part(memory_.block(slot), size);
  ASSAY_TRY(
      open_->read(at_, std::span<const std::span<std::uint8_t>>(&part, 1), &memory_.direct_, end_));
  at_ += size;
  return size;
}

Result<ByteView> BlockReader::next() {
  ASSAY_TRY(open());
  if (is_ahead()) {
    return take();
  }
  ASSAY_ASSIGN(const std::size_t size, read_into(0));
  return ByteView(memory_.block(0), size);
}

void BlockReader::start_ahead() {
  if (is_ahead() || end_ - at_ <= kBlock || !open()) {
    return;
  }
  // The block with the user may be that of slot 0.
  first_ = 1;
  try {
    thread_ = std::jthread([this, core = current_core()](const std::stop_token& stop) {
      // Threads that wake each other often end up on one core, and then read and hash by turns.
      leave_core(core);
      run(stop);
    });
  } catch (const std::system_error&) {
    first_ = 0;
  }
}

void BlockReader::run(const std::stop_token& stop) {
  while (true) {
    std::size_t slot = 0;
    {
      std::unique_lock lock(mutex_);
      // One block stays with the user. A reader that has filled the others sleeps until half are
      // free: a wake-up for each block would cost its user a twentieth of the time.
      if (filled_ + 1 == kBlocks) {
        changed_.wait(lock, stop, [this] { return filled_ <= kBlocks / 2; });
      }
      if (stop.stop_requested()) {
        return;
      }
      slot = (first_ + filled_) % kBlocks;
    }
    auto size = read_into(slot);
    const std::scoped_lock lock(mutex_);
    if (!size) {
      error_ = std::move(size).error();
    } else if (*size > 0) {
      sizes_[slot] = *size;
      ++filled_;
    }
    done_ = !size || *size == 0;
    changed_.notify_all();
    if (done_) {
      return;
    }
  }
}

Result<ByteView> BlockReader::take() {
  std::unique_lock lock(mutex_);
  if (held_) {
    first_ = (first_ + 1) % kBlocks;
    --filled_;
    held_ = false;
    if (filled_ == kBlocks / 2) {
      changed_.notify_all();
    }
  }
  changed_.wait(lock, [this] { return filled_ > 0 || done_; });
  if (filled_ == 0) {
    if (error_) {
      return std::unexpected(*error_);
    }
    return ByteView();
  }
  held_ = true;
  return ByteView(memory_.block(first_), sizes_[first_]);
}

}  // namespace assay::gpu_hash
