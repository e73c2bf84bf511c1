// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cl_tables.h"

#include <array>
#include <bit>
#include <cstring>

namespace assay::gpu_hash {
namespace {

template <typename T>
Status enqueue_write(const ClSession& session, cl_command_queue queue, ClEvents& events,
                     cl_mem buffer, std::span<const T> values) {
  if (values.empty()) {
    return {};
  }
  cl_event event = nullptr;
  ASSAY_TRY(session.check("clEnqueueWriteBuffer",
                          clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, values.size_bytes(),
                                               values.data(), 0, nullptr, &event)));
  events.add(event);
  return {};
}

// Digest of `bytes`, words as the device keeps them. Devices are little-endian, and so is every
// host this is built for.
static_assert(std::endian::native == std::endian::little);

template <typename Word>
Digest from_words(HashAlgorithm algorithm, ByteView bytes) {
  std::array<std::uint8_t, Digest::kMaxSize> out{};
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Word)) {
    Word word{};
    std::memcpy(&word, bytes.subspan(at, sizeof(Word)).data(), sizeof(Word));
    word = std::byteswap(word);
    std::memcpy(out.data() + at, &word, sizeof(Word));
  }
  return Digest::wrap(algorithm, out.data());
}

}  // namespace

Result<ClTables> ClTables::create(const ClSession& session, const Capacity& capacity) {
  ClTables tables;
  tables.capacity_ = capacity;
  const std::uint64_t segments = capacity.segments;
  constexpr cl_mem_flags in = CL_MEM_READ_ONLY;
  constexpr std::uint64_t word = sizeof(std::uint32_t);
  ASSAY_ASSIGN(tables.extents_, session.make_buffer(in, segments * 2 * sizeof(std::uint64_t)));
  ASSAY_ASSIGN(tables.first_slot_, session.make_buffer(in, (segments + 1) * word));
  ASSAY_ASSIGN(tables.first_pair_,
               session.make_buffer(in, (segments + 1) * (capacity.levels + 1) * word));
  ASSAY_ASSIGN(
      tables.digests_,
      session.make_buffer(CL_MEM_READ_WRITE, std::uint64_t{capacity.slots} * Digest::kMaxSize));
  ASSAY_ASSIGN(tables.roots_, session.make_buffer(CL_MEM_READ_WRITE, segments * Digest::kMaxSize));
  return tables;
}

Status ClTables::upload(const ClSession& session, cl_command_queue queue, const SliceLayout& layout,
                        ClEvents& events) {
  segments_ = static_cast<std::uint32_t>(layout.segments().size());
  slots_ = layout.slots();
  levels_.clear();
  pair_tables_.clear();
  for (const TreeLevel& level : layout.levels()) {
    levels_.push_back({static_cast<std::uint32_t>(pair_tables_.size()), level.pairs, level.level});
    pair_tables_.insert(pair_tables_.end(), level.first_pair.begin(), level.first_pair.end());
  }
  if (segments_ > capacity_.segments || slots_ > capacity_.slots ||
      levels_.size() > capacity_.levels) {
    return fail(ErrorCode::kInternal, "a launch is larger than its device memory");
  }
  ASSAY_TRY(enqueue_write(session, queue, events, extents_.get(), layout.extents()));
  ASSAY_TRY(enqueue_write(session, queue, events, first_slot_.get(), layout.first_slot()));
  return enqueue_write(session, queue, events, first_pair_.get(),
                       std::span<const std::uint32_t>(pair_tables_));
}

Status ClTables::compute(const ClSession& session, cl_command_queue queue, const ClKernels& kernels,
                         cl_mem data, std::uint32_t chunk_size, ClEvents& events) {
  const ClLaunch launch{data,           extents_.get(), first_slot_.get(), first_pair_.get(),
                        digests_.get(), roots_.get(),   segments_,         slots_,
                        chunk_size};
  ASSAY_TRY(kernels.leaves(session, queue, launch, events));
  for (const Level& level : levels_) {
    ASSAY_TRY(
        kernels.nodes(session, queue, launch, level.table_begin, level.pairs, level.level, events));
  }
  return kernels.gather(session, queue, launch, events);
}

Status ClTables::download(const ClSession& session, cl_command_queue queue,
                          const ClKernels& kernels, ClEvents& events) {
  host_roots_.assign(segments_ * kernels.digest_bytes(), 0);
  cl_event event = nullptr;
  ASSAY_TRY(session.check("clEnqueueReadBuffer",
                          clEnqueueReadBuffer(queue, roots_.get(), CL_FALSE, 0, host_roots_.size(),
                                              host_roots_.data(), 0, nullptr, &event)));
  events.add(event);
  return {};
}

std::vector<Digest> ClTables::roots(HashAlgorithm algorithm) const {
  std::vector<Digest> result;
  result.reserve(segments_);
  const std::size_t width = digest_size(algorithm);
  for (std::size_t i = 0; i < segments_; ++i) {
    const ByteView bytes = ByteView(host_roots_).subspan(i * width, width);
    result.push_back(algorithm == HashAlgorithm::kSha256
                         ? from_words<std::uint32_t>(algorithm, bytes)
                         : from_words<std::uint64_t>(algorithm, bytes));
  }
  return result;
}

}  // namespace assay::gpu_hash
