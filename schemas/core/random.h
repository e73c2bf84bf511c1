// SPDX-License-Identifier: Apache-2.0
// Sources of random bytes, which are passed as a parameter, and ids made from random bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay {

// A source of unpredictable bytes. Implementations are safe to call from several threads.
class Random {
 public:
  virtual ~Random() = default;
  // Fills all of `out`. Errors: internal; the content of `out` is then unspecified.
  [[nodiscard]] virtual Status fill(std::span<std::uint8_t> out) = 0;
};

// The operating system's generator, through OpenSSL.
class SystemRandom final : public Random {
 public:
  [[nodiscard]] Status fill(std::span<std::uint8_t> out) override;
};

// Makes a UUID version 7 (RFC 9562 section 5.7) in text form. Such ids sort by time of creation.
[[nodiscard]] Result<std::string> make_uuid_v7(Random& random, Timestamp now);
// Returns true for a lowercase UUID of version 7, as make_uuid_v7() writes it.
[[nodiscard]] bool is_uuid_v7(std::string_view text);

}  // namespace assay
