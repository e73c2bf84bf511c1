// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/staging.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "schemas/core/merkle.h"
#include "worker/instances/match.h"

namespace assay::worker {

namespace {

// Copies tensors into a buffer, as many windows as have room, and hashes what is there. A window is
// a whole subtree of its tensor, so its root is one digest of an outline.
class Stager {
 public:
  Stager(Owner& owner, gpu_hash::Engine& engine, std::span<const InstanceTensor* const> tensors,
         const gpu_hash::HashRequest& request, std::uint64_t window)
      : owner_(owner),
        engine_(engine),
        tensors_(tensors),
        request_(request),
        window_(window),
        fine_(request.outline_span != 0 && request.outline_span <= window),
        roots_(tensors.size()),
        outlines_(tensors.size()) {
    request_.progress = {};
    request_.outline_span = fine_ ? request.outline_span : 0;
  }

  Status run() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const std::uint64_t size = size_of(*tensors_[i]);
      std::uint64_t at = 0;
      do {
        const std::uint64_t take = std::min(window_, size - at);
        if (take > window_ - used_) {
          ASSAY_TRY(flush());
        }
        ASSAY_TRY(read(*tensors_[i], at, take));
        items_.push_back({i, used_, take});
        used_ += take;
        at += take;
      } while (at < size);
    }
    return flush();
  }

  std::vector<gpu_hash::ObjectDigests> take(std::uint64_t span) {
    const HashAlgorithm algorithm = request_.parameters.hash;
    std::vector<gpu_hash::ObjectDigests> result;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const std::vector<Digest>& roots = roots_[i];
      std::vector<Digest> outline = std::move(outlines_[i]);
      if (span > window_ && size_of(*tensors_[i]) > 0) {
        const std::size_t step = span / window_;
        for (std::size_t at = 0; at < roots.size(); at += step) {
          outline.push_back(merkle_root(
              algorithm, std::span(roots).subspan(at, std::min(step, roots.size() - at))));
        }
      }
      result.push_back({merkle_root(algorithm, roots), std::move(outline)});
    }
    return result;
  }

 private:
  struct Item {
    std::size_t tensor;
    std::uint64_t offset;  // bytes in the buffer
    std::uint64_t size;    // bytes
  };

  // Bytes [at, at + size) of a tensor, to where the buffer is free.
  Status read(const InstanceTensor& tensor, std::uint64_t at, std::uint64_t size) {
    if (request_.stop.stop_requested()) {
      return fail(ErrorCode::kCancelled, "hashing was stopped on request");
    }
    if (buffer_.size() < used_ + size) {
      buffer_.resize(std::min(window_, std::bit_ceil(used_ + size)));
    }
    std::span<std::uint8_t> out = std::span(buffer_).subspan(used_, size);
    for (const InstancePart& part : tensor.parts) {
      if (at >= part.size) {
        at -= part.size;
        continue;
      }
      const std::uint64_t here = std::min<std::uint64_t>(out.size(), part.size - at);
      if (here == 0) {
        break;
      }
      ASSAY_TRY(owner_.read_staged(part.piece, part.offset + at, out.first(here)));
      out = out.subspan(here);
      at = 0;
    }
    return out.empty() ? Status()
                       : fail(ErrorCode::kInternal, "a tensor ended before its last byte");
  }

  Status flush() {
    std::vector<gpu_hash::Region> regions;
    for (const Item& item : items_) {
      regions.push_back(gpu_hash::host_region(ByteView(buffer_).subspan(item.offset, item.size)));
    }
    ASSAY_ASSIGN(std::vector<gpu_hash::ObjectDigests> digests, engine_.hash(regions, request_));
    for (std::size_t i = 0; i < items_.size(); ++i) {
      roots_[items_[i].tensor].push_back(digests.at(i).root);
      std::ranges::move(digests[i].outline, std::back_inserter(outlines_[items_[i].tensor]));
    }
    items_.clear();
    used_ = 0;
    return {};
  }

  Owner& owner_;
  gpu_hash::Engine& engine_;
  std::span<const InstanceTensor* const> tensors_;
  gpu_hash::HashRequest request_;
  std::uint64_t window_;
  bool fine_;     // digests of an outline are inside windows
  Bytes buffer_;  // grows up to a window
  std::uint64_t used_ = 0;
  std::vector<Item> items_;
  std::vector<std::vector<Digest>> roots_;     // of windows, by tensor
  std::vector<std::vector<Digest>> outlines_;  // by tensor
};

}  // namespace

Result<std::vector<gpu_hash::ObjectDigests>> hash_staged(
    Owner& owner, gpu_hash::Engine& engine, std::span<const InstanceTensor* const> tensors,
    const gpu_hash::HashRequest& request, std::uint64_t window) {
  ASSAY_TRY(gpu_hash::check(request));
  if (!std::has_single_bit(window) || window < request.parameters.chunk_size ||
      window > kStagingWindow) {
    return fail(ErrorCode::kInvalidParameter, "no window for staged memory");
  }
  Stager stager(owner, engine, tensors, request, window);
  ASSAY_TRY(stager.run());
  return stager.take(request.outline_span);
}

}  // namespace assay::worker
