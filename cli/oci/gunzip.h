// SPDX-License-Identifier: Apache-2.0
// Decompresses gzip (RFC 1952) piece by piece, and stops where the content grows beyond what
// compressed files of models are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::oci {

// What was compressed may be this much longer than what it was compressed to, beyond a first part.
inline constexpr std::uint64_t kMaxRatio = 100;
inline constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20;

class Gunzip {
 public:
  using Take = std::function<Status(ByteView piece)>;

  Gunzip();
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Passes on what the piece decompresses to. Several members one after another are one stream.
  // Errors: invalid-encoding; limit-exceeded beyond the ratio; those of `take`.
  [[nodiscard]] Status feed(ByteView piece, const Take& take);
  // Errors: invalid-encoding when the stream is not over.
  [[nodiscard]] Status finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::oci
