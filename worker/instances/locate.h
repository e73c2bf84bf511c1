// SPDX-License-Identifier: Apache-2.0
// Where in a tensor bytes changed: digests of its parts, learned while it was right, and compared
// after it was found changed.
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
// "bytes 0 to 16384, 32768 to 40000 and 3 more ranges"; empty for no ranges.
[[nodiscard]] std::string text_of(const std::vector<ByteRange>& ranges);

// Not thread-safe.
class Locator {
 public:
  // Of the tensors of this artifact. Digests take kMostDigests at most: models of more than 256 GiB
  // are located more coarsely.
  explicit Locator(const Artifact& artifact);

  // Bytes that one digest covers.
  [[nodiscard]] std::uint64_t span() const { return span_; }
  // Bytes of all tensors.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // True when there is nothing more to learn.
  [[nodiscard]] bool is_done() const { return next_ == tensors_.size(); }
  // Hashes the next tensors of `model`, `bytes` of them or somewhat more. What does not lead to the
  // root that the artifact says is not learned: its bytes have changed already. Errors end it.
  void learn(InstanceModel& model, std::uint64_t bytes, const std::stop_token& stop);

  // Hashes this tensor of `model` again: the ranges whose bytes are others, joined where they
  // touch. Empty when none is, when the tensor was not learned, and when it cannot be read.
  [[nodiscard]] std::vector<ByteRange> find(InstanceModel& model, std::string_view tensor,
                                            const std::stop_token& stop) const;

 private:
  static constexpr std::uint64_t kFinest = std::uint64_t{1} << 20;       // bytes of a span
  static constexpr std::uint64_t kMostDigests = std::uint64_t{1} << 18;  // some 15 MiB

  struct Tensor {
    std::string name;
    std::uint64_t entry;  // position in the artifact
    std::uint64_t size;   // bytes
    Digest root;
    std::vector<Digest> digests{};  // empty: not learned
  };

  HashAlgorithm algorithm_;
  std::uint64_t span_ = kFinest;
  std::uint64_t bytes_ = 0;
  std::vector<Tensor> tensors_;
  std::size_t next_ = 0;  // of tensors_, to be learned
};

}  // namespace assay::worker
