// SPDX-License-Identifier: Apache-2.0
// Reads typed members of Intel's JSON documents. The functions return nullopt or null when a member
// is missing, of another type or out of range. Hex digits may be of either case, because the
// documents use both. Internal to this folder.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/json.h"

namespace assay::attestation::tdx::fields {

// Returns the member, borrowed. Returns null when `object` is not an object or has no such member.
[[nodiscard]] const Json* find(const Json& object, const char* name);
[[nodiscard]] const Json* find_array(const Json& object, const char* name);
[[nodiscard]] std::optional<std::string> text(const Json& object, const char* name);
// Reads an integer of 0 to `max`.
[[nodiscard]] std::optional<std::uint32_t> number(const Json& object, const char* name,
                                                  std::uint32_t max);
[[nodiscard]] std::optional<Timestamp> time(const Json& object, const char* name);
// Reads a list of strings. Empty when the member is missing. Returns nullopt when the member is
// anything but a list of strings.
[[nodiscard]] std::optional<std::vector<std::string>> texts(const Json& object, const char* name);

// Decodes hex digits of either case.
[[nodiscard]] std::optional<Bytes> hex_bytes(std::string_view digits);

template <std::size_t N>
[[nodiscard]] bool read_hex(const Json& object, const char* name,
                            std::array<std::uint8_t, N>& out) {
  const auto digits = text(object, name);
  const auto bytes = digits ? hex_bytes(*digits) : std::nullopt;
  if (!bytes || bytes->size() != N) {
    return false;
  }
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return true;
}

}  // namespace assay::attestation::tdx::fields
