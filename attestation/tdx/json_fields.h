// SPDX-License-Identifier: Apache-2.0
// Typed members of Intel's JSON documents; nothing when a member is missing, of another type or out
// of range. Hex digits may be of either case, as the documents use both. Internal to this folder.
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

// The member, or null when `object` is no object or has no such member. Borrowed.
[[nodiscard]] const Json* find(const Json& object, const char* name);
[[nodiscard]] const Json* find_array(const Json& object, const char* name);
[[nodiscard]] std::optional<std::string> text(const Json& object, const char* name);
// An integer of 0 to `max`.
[[nodiscard]] std::optional<std::uint32_t> number(const Json& object, const char* name,
                                                  std::uint32_t max);
[[nodiscard]] std::optional<Timestamp> time(const Json& object, const char* name);
// Strings; empty when the member is missing, nothing when it is something else.
[[nodiscard]] std::optional<std::vector<std::string>> texts(const Json& object, const char* name);

// Hex of either case.
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
