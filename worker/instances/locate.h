// SPDX-License-Identifier: Apache-2.0
// Finds the byte ranges of a tensor that changed. The digests of equal spans of the tensor are
// computed while the tensor is still correct, and compared after a check found it changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/artifact.h"
#include "worker/instances/model.h"

namespace assay::worker {

// Bytes [begin, end) of a tensor.
struct ByteRange {
  std::uint64_t begin;
  std::uint64_t end;
  bool operator==(const ByteRange&) const = default;
};
// Returns text such as "bytes 0 to 16384, 32768 to 40000 and 3 more ranges", with at most four
// ranges; empty when there are no ranges.
[[nodiscard]] std::string text_of(const std::vector<ByteRange>& ranges);

// Not thread-safe.
class Locator {
 public:
  // Makes a locator for the tensors of `artifact`. The locator keeps about kMostDigests digests at
  // most, so for models of more than 256 GiB one digest covers a longer span.
  explicit Locator(const Artifact& artifact);

  // Returns the number of bytes that one digest covers.
  [[nodiscard]] std::uint64_t span() const { return span_; }
  // Returns the size in bytes of all tensors together.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Returns true when learn() has tried all tensors.
  [[nodiscard]] bool is_done() const { return next_ == tensors_.size(); }
  // Hashes the next tensors of `model`, at least `bytes` bytes of them if there are so many, and
  // keeps their digests. Keeps no digests of a tensor whose root is not the one in the artifact,
  // because its bytes have changed already. When hashing fails, these tensors are not tried again.
  void learn(InstanceModel& model, std::uint64_t bytes, const std::stop_token& stop);

  // Hashes this tensor of `model` again, and returns the ranges of bytes that changed; adjacent
  // ranges are joined. Empty when no byte changed, when learn() kept no digests of the tensor, or
  // when the tensor cannot be read.
  [[nodiscard]] std::vector<ByteRange> find(InstanceModel& model, std::string_view tensor,
                                            const std::stop_token& stop) const;

 private:
  static constexpr std::uint64_t kFinest = std::uint64_t{1} << 20;       // shortest span in bytes
  static constexpr std::uint64_t kMostDigests = std::uint64_t{1} << 18;  // some 15 MiB

  struct Tensor {
    std::string name;
    std::uint64_t entry;  // position in the artifact
    std::uint64_t size;   // bytes
    Digest root;
    std::vector<Digest> digests{};  // that learn() kept; empty: none
  };

  HashAlgorithm algorithm_;
  std::uint64_t span_ = kFinest;
  std::uint64_t bytes_ = 0;
  std::vector<Tensor> tensors_;
  std::size_t next_ = 0;  // position in tensors_ of the next one to learn
};

}  // namespace assay::worker
