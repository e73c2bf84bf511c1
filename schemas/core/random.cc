// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/random.h"

#include <array>

#include <openssl/rand.h>

#include "schemas/core/bytes.h"

namespace assay {

Status SystemRandom::fill(std::span<std::uint8_t> out) {
  if (RAND_bytes(out.data(), static_cast<int>(out.size())) != 1) {
    return fail(ErrorCode::kInternal, "the system's random generator failed");
  }
  return {};
}

Result<std::string> make_uuid_v7(Random& random, Timestamp now) {
  std::array<std::uint8_t, 16> bytes{};
  ASSAY_TRY(random.fill(bytes));
  const auto milliseconds = static_cast<std::uint64_t>(now.time_since_epoch().count());
  for (std::size_t i = 0; i < 6; ++i) {
    bytes[i] = static_cast<std::uint8_t>(milliseconds >> (40 - 8 * i));
  }
  bytes[6] = static_cast<std::uint8_t>(0x70U | (bytes[6] & 0x0FU));
  bytes[8] = static_cast<std::uint8_t>(0x80U | (bytes[8] & 0x3FU));
  std::string text = hex_encode(bytes);
  for (const std::size_t position : {20U, 16U, 12U, 8U}) {
    text.insert(position, 1, '-');
  }
  return text;
}

bool is_uuid_v7(std::string_view text) {
  if (text.size() != 36 || text[14] != '7' ||
      std::string_view("89ab").find(text[19]) == std::string_view::npos) {
    return false;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
    if (dash ? text[i] != '-' : !hex) {
      return false;
    }
  }
  return true;
}

}  // namespace assay
