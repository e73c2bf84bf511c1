// SPDX-License-Identifier: Apache-2.0
// Threads that fill blocks of staging memory (staging.h), a few blocks at a time.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "gpu_hash/files/piece_reader.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// The threads live as long as this object.
class BlockFiller {
 public:
  // Blocks that are filled at a time; the others are on their way to the device.
  static constexpr std::size_t kFilling = 3;
  // Fills `out` with the bytes from `begin` on. Called by several threads at once, each with a
  // reader of its own.
  using Fill =
      std::function<Status(PieceReader& reader, std::uint64_t begin, std::span<std::uint8_t> out)>;

  BlockFiller(const std::stop_token& stop, unsigned threads);
  ~BlockFiller();
  BlockFiller(const BlockFiller&) = delete;
  BlockFiller& operator=(const BlockFiller&) = delete;

  // Returns the number of threads that so many bytes keep busy, at most `threads`.
  [[nodiscard]] static unsigned useful_threads(unsigned threads, std::uint64_t bytes);

  // Starts to fill `block` by calls of `fill`, from byte `begin` on. `block` must stay until wait()
  // has returned or this object is gone.
  void post(Fill fill, std::uint64_t begin, std::span<std::uint8_t> block);
  // Waits for the block that was posted first, and forgets it. Errors: the first of `fill`;
  // cancelled.
  [[nodiscard]] Status wait();

 private:
  struct Block {
    Fill fill;
    std::uint64_t begin;
    std::span<std::uint8_t> memory;
    std::uint64_t next;  // part that nobody has taken
    std::uint64_t parts;
    std::uint64_t missing;  // parts that are not yet there
  };
  [[nodiscard]] Block* next_block();
  void work();
  [[nodiscard]] Status fill(PieceReader& reader, const Block& block, std::uint64_t part) const;

  const std::stop_token& stop_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Block> blocks_;
  std::optional<Error> error_;
  bool end_ = false;
  std::vector<std::jthread> threads_;  // last: they use all of it
};

}  // namespace assay::gpu_hash
