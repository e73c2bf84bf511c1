// SPDX-License-Identifier: Apache-2.0
// Reads a range of a file block by block, and ahead of its user on a thread of its own once there
// is a core for it. Internal to this folder.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "gpu_hash/source_file.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Memory for one BlockReader at a time, kept from file to file.
class BlockMemory {
 public:
  // Large enough that reads past the page cache fill it in place (source_file.h).
  static constexpr std::size_t kBlock = std::size_t{256} << 10;  // bytes
  static constexpr std::size_t kBlocks = 6;

 private:
  friend class BlockReader;
  struct Free {
    void operator()(std::uint8_t* memory) const {
      ::operator delete[](memory, std::align_val_t{DirectBuffer::kUnit});
    }
  };
  [[nodiscard]] std::uint8_t* block(std::size_t slot);

  std::unique_ptr<std::uint8_t[], Free> memory_;
  DirectBuffer direct_;
};

// Used by one thread.
class BlockReader {
 public:
  static constexpr std::size_t kBlock = BlockMemory::kBlock;

  // Reads bytes [begin, end) of `file`. Both borrowed objects must outlive the reader.
  BlockReader(const SourceFile& file, std::uint64_t begin, std::uint64_t end, BlockMemory& memory);
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // Returns the next block, which is valid until the next call; empty at the end. Errors: those of
  // SourceFile::open() and OpenFile::read().
  [[nodiscard]] Result<ByteView> next();

  // Reads ahead from now on. Does nothing when the system has no thread for it.
  void start_ahead();
  [[nodiscard]] bool is_ahead() const { return thread_.joinable(); }

 private:
  static constexpr std::size_t kBlocks = BlockMemory::kBlocks;

  [[nodiscard]] Status open();
  [[nodiscard]] Result<std::size_t> read_into(std::size_t slot);
  void run(const std::stop_token& stop);
  [[nodiscard]] Result<ByteView> take();

  const SourceFile& file_;
  BlockMemory& memory_;
  std::shared_ptr<const OpenFile> open_;
  std::uint64_t at_;  // bytes; what is read next
  std::uint64_t end_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::array<std::size_t, kBlocks> sizes_{};  // of the blocks in [first_, first_ + filled_)
  std::size_t first_ = 0;                     // guarded by mutex_, as what follows
  std::size_t filled_ = 0;
  bool held_ = false;  // the first block is with the user
  bool done_ = false;
  std::optional<Error> error_;
  std::jthread thread_;
};

}  // namespace assay::gpu_hash
