// SPDX-License-Identifier: Apache-2.0
// Randomness as a parameter, and the ids made from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay {

// Source of unpredictable bytes. Implementations are safe to call from several threads.
class Random {
 public:
  virtual ~Random() = default;
  // Fills all of `out`, or fails with internal and leaves `out` unspecified.
  [[nodiscard]] virtual Status fill(std::span<std::uint8_t> out) = 0;
};

// The operating system's generator through OpenSSL's.
class SystemRandom final : public Random {
 public:
  [[nodiscard]] Status fill(std::span<std::uint8_t> out) override;
};

// UUID version 7 (RFC 9562 section 5.7) in text form: sorts by time of creation.
[[nodiscard]] Result<std::string> make_uuid_v7(Random& random, Timestamp now);
// True for a lowercase UUID of version 7 as make_uuid_v7 writes it.
[[nodiscard]] bool is_uuid_v7(std::string_view text);

}  // namespace assay
