// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/locate.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "schemas/core/merkle.h"

namespace assay::worker {

std::string text_of(const std::vector<ByteRange>& ranges) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), kShown); ++i) {
    text += (i == 0 ? "bytes " : ", ") + std::to_string(ranges[i].begin) + " to " +
            std::to_string(ranges[i].end);
  }
  if (ranges.size() > kShown) {
    text += " and " + std::to_string(ranges.size() - kShown) + " more ranges";
  }
  return text;
}

Locator::Locator(const Artifact& artifact) : algorithm_(artifact.parameters.hash) {
  for (std::uint64_t i = 0; i < artifact.entries.size(); ++i) {
    if (const auto* const tensor = std::get_if<TensorEntry>(&artifact.entries[i])) {
      tensors_.push_back({tensor->name, i, tensor->size, tensor->root});
      bytes_ += tensor->size;
    }
  }
  span_ = std::max<std::uint64_t>(span_, artifact.parameters.chunk_size);
  while (bytes_ / span_ > kMostDigests) {
    span_ *= 2;
  }
}

void Locator::learn(InstanceModel& model, std::uint64_t bytes, const std::stop_token& stop) {
  const std::size_t first = next_;
  std::vector<std::uint64_t> entries;
  for (std::uint64_t taken = 0; next_ < tensors_.size() && (taken < bytes || entries.empty());
       ++next_) {
    entries.push_back(tensors_[next_].entry);
    taken += tensors_[next_].size;
  }
  auto found = model.outline(entries, span_, stop);
  for (std::size_t i = 0; found && i < found->size(); ++i) {
    Tensor& tensor = tensors_[first + i];
    if (merkle_root(algorithm_, found->at(i).digests) == tensor.root) {
      tensor.digests = std::move(found->at(i).digests);
    }
  }
}

std::vector<ByteRange> Locator::find(InstanceModel& model, std::string_view tensor,
                                     const std::stop_token& stop) const {
  std::vector<ByteRange> ranges;
  const auto known = std::ranges::find(tensors_, tensor, &Tensor::name);
  if (known == tensors_.end() || known->digests.empty()) {
    return ranges;
  }
  const auto found = model.outline({known->entry}, span_, stop);
  if (!found || found->at(0).digests.size() != known->digests.size()) {
    return ranges;
  }
  for (std::size_t i = 0; i < known->digests.size(); ++i) {
    if (found->at(0).digests[i] == known->digests[i]) {
      continue;
    }
    const std::uint64_t begin = i * span_;
    const std::uint64_t end = std::min(begin + span_, known->size);
    if (!ranges.empty() && ranges.back().end == begin) {
      ranges.back().end = end;
    } else {
      ranges.push_back({begin, end});
    }
  }
  return ranges;
}

}  // namespace assay::worker
