// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cpu/leaves.h"

#include <algorithm>
#include <cstring>

namespace assay::gpu_hash {
namespace {

// What one system call should bring at least, small enough for the cache next to a core.
constexpr std::size_t kReadSize = std::size_t{256} << 10;  // bytes
// Chunks begin at cache lines, and slots lie apart so that lanes do not fight for cache sets.
constexpr std::size_t kLine = 64;              // bytes
constexpr std::size_t kSlotExtra = 2 * kLine;  // bytes
constexpr std::uint8_t kLeafPrefix = 0x00;
constexpr std::uint8_t kNodePrefix = 0x01;

}  // namespace

void CpuLeaves::prepare(std::uint64_t chunk_size) {
  const std::size_t lanes = chunk_size <= hasher_->longest() ? hasher_->lanes() : 1;
  const std::size_t wanted = std::max<std::size_t>(lanes, kReadSize / chunk_size);
  slots_ = (wanted + lanes - 1) / lanes * lanes;
  stride_ = chunk_size + kSlotExtra;
  const std::size_t needed = slots_ * stride_ + kLine;
  if (arena_.size() < needed) {
    arena_.resize(needed);
  }
  messages_.clear();
  messages_.reserve(slots_);
}

std::uint8_t* CpuLeaves::slot(std::size_t index) {
  const auto base = reinterpret_cast<std::uintptr_t>(arena_.data());
  const std::size_t aligned = (kLine - base % kLine) % kLine;
  return arena_.data() + aligned + index * stride_ + kLine;
}

Result<std::vector<std::vector<Digest>>> CpuLeaves::hash(std::span<const LeafRun> runs,
                                                         std::uint64_t chunk_size,
                                                         std::uint64_t grain) {
  prepare(chunk_size);
  const std::size_t width = digest_size(algorithm_);
  std::vector<Bytes> levels(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    levels[i].resize((runs[i].size + chunk_size - 1) / chunk_size * width);
    ASSAY_TRY(add(runs[i], chunk_size, levels[i]));
  }
  ASSAY_TRY(flush());
  std::vector<std::vector<Digest>> digests(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::uint64_t covered = chunk_size; covered < grain && levels[i].size() > width;
         covered *= 2) {
      ASSAY_TRY(pair_up(levels[i]));
    }
    for (std::size_t at = 0; at < levels[i].size(); at += width) {
      digests[i].push_back(Digest::wrap(algorithm_, levels[i].data() + at));
    }
  }
  return digests;
}

// Lets the messages of one run go to `leaves`, which must not move before flush().
Status CpuLeaves::add(const LeafRun& run, std::uint64_t chunk_size, Bytes& leaves) {
  std::uint8_t* digest = leaves.data();
  for (std::uint64_t at = 0; at < run.size;) {
    const std::size_t first = messages_.size();
    const std::uint64_t size = std::min((slots_ - first) * chunk_size, run.size - at);
    ASSAY_TRY(fetch(run, at, size, chunk_size));
    for (std::size_t i = first; i < messages_.size(); ++i) {
      messages_[i].digest = digest;
      digest += digest_size(algorithm_);
    }
    at += size;
    if (messages_.size() == slots_) {
      ASSAY_TRY(flush());
    }
  }
  return {};
}

// Makes messages of the chunks in [at, at + size) of the run, which have room in the slots.
Status CpuLeaves::fetch(const LeafRun& run, std::uint64_t at, std::uint64_t size,
                        std::uint64_t chunk_size) {
  ByteView borrowed;
  if (!hasher_->needs_prefix()) {
    borrowed = PieceReader::borrow(*run.region, run.offset + at, size);
  }
  parts_.clear();
  for (std::uint64_t from = 0; from < size; from += chunk_size) {
    const std::uint64_t length = std::min(chunk_size, size - from);
    if (!borrowed.empty()) {
      messages_.push_back({kLeafPrefix, borrowed.data() + from, length, nullptr});
      continue;
    }
    std::uint8_t* chunk = slot(messages_.size());
    chunk[-1] = kLeafPrefix;
    messages_.push_back({kLeafPrefix, chunk, length, nullptr});
    parts_.emplace_back(chunk, length);
  }
  return parts_.empty() ? Status{} : reader_.read(*run.region, run.offset + at, parts_);
}

Status CpuLeaves::flush() {
  Status status = messages_.empty() ? Status{} : hasher_->hash(messages_);
  messages_.clear();
  return status;
}

// One level up: a node for each pair, an odd last digest as it is.
Status CpuLeaves::pair_up(Bytes& level) {
  const std::size_t width = digest_size(algorithm_);
  const std::size_t pairs = level.size() / (2 * width);
  const std::size_t stride = kLine + 2 * width;
  pairs_.resize(std::max(pairs_.size(), pairs * stride));
  std::vector<Message> nodes;
  nodes.reserve(pairs);
  Bytes above((level.size() / width + 1) / 2 * width);
  for (std::size_t i = 0; i < pairs; ++i) {
    std::uint8_t* node = pairs_.data() + i * stride + kLine;
    node[-1] = kNodePrefix;
    std::memcpy(node, level.data() + i * 2 * width, 2 * width);
    nodes.push_back({kNodePrefix, node, 2 * width, above.data() + i * width});
  }
  std::copy(level.begin() + static_cast<std::ptrdiff_t>(pairs * 2 * width), level.end(),
            above.begin() + static_cast<std::ptrdiff_t>(pairs * width));
  ASSAY_TRY(hasher_->hash(nodes));
  level = std::move(above);
  return {};
}

}  // namespace assay::gpu_hash
