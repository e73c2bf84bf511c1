// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/tree/fold.h"

#include <algorithm>

namespace assay::gpu_hash {

std::optional<Segment> SegmentCursor::next() {
  while (region_ < sizes_.size() && sizes_[region_] == 0) {
    ++region_;
  }
  if (region_ == sizes_.size()) {
    return std::nullopt;
  }
  const Segment segment{region_, offset_, std::min(segment_size_, sizes_[region_] - offset_)};
  offset_ += segment.size;
  if (offset_ == sizes_[region_]) {
    ++region_;
    offset_ = 0;
  }
  return segment;
}

ObjectFold::ObjectFold(HashAlgorithm algorithm, std::uint64_t grain, std::uint64_t span)
    : digests_per_span_(span / grain),
      object_(algorithm),
      span_(algorithm),
      algorithm_(algorithm) {}

void ObjectFold::append(const Digest& digest) {
  if (digests_per_span_ == 0) {
    object_.append(digest);
    return;
  }
  span_.append(digest);
  if (span_.size() == digests_per_span_) {
    close_span();
  }
}

void ObjectFold::close_span() {
  const Digest root = span_.root();
  outline_.push_back(root);
  object_.append(root);
  span_ = MerkleAccumulator(algorithm_);
}

ObjectDigests ObjectFold::finish() {
  if (span_.size() > 0) {
    close_span();
  }
  return {object_.root(), std::move(outline_)};
}

ResultTable::ResultTable(std::span<const std::uint64_t> sizes, const HashRequest& request,
                         std::uint64_t grain)
    : sizes_(sizes),
      algorithm_(request.parameters.hash),
      grain_(grain),
      span_(request.outline_span),
      results_(sizes.size(), ObjectDigests{merkle_empty(algorithm_), {}}) {
  open_ = static_cast<std::size_t>(
      std::count_if(sizes.begin(), sizes.end(), [](std::uint64_t size) { return size > 0; }));
}

void ResultTable::add(const Segment& segment, std::span<const Digest> digests) {
  bytes_done_ += segment.size;
  if (segment.size == sizes_[segment.region] && digests.size() == 1) {
    // A whole object under one digest, as most are: there is nothing to fold.
    ObjectDigests& result = results_[segment.region];
    result.root = digests.front();
    if (span_ != 0) {
      result.outline.assign(1, digests.front());
    }
    --open_;
    return;
  }
  auto found = work_.find(segment.region);
  if (found == work_.end()) {
    found = work_.emplace(segment.region, Work{ObjectFold(algorithm_, grain_, span_), 0, {}}).first;
  }
  Work& work = found->second;
  work.waiting.emplace(segment.offset, Waiting{segment.size, {digests.begin(), digests.end()}});
  while (!work.waiting.empty() && work.waiting.begin()->first == work.next) {
    const auto& [offset, ready] = *work.waiting.begin();
    for (const Digest& digest : ready.digests) {
      work.fold.append(digest);
    }
    work.next += ready.size;
    work.waiting.erase(work.waiting.begin());
  }
  if (work.next == sizes_[segment.region]) {
    results_[segment.region] = work.fold.finish();
    work_.erase(found);
    --open_;
  }
}

Result<std::vector<ObjectDigests>> ResultTable::take() {
  if (open_ != 0) {
    return fail(ErrorCode::kInternal, "an engine ended without the digests of every object");
  }
  return std::move(results_);
}

}  // namespace assay::gpu_hash
