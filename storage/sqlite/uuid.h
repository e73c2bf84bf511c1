// SPDX-License-Identifier: Apache-2.0
// UUIDs (RFC 9562) as the bytes that they are, in less than half of the room of their text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/bytes.h"

namespace assay::storage::sqlite {

inline constexpr std::size_t kUuidBytes = 16;
inline constexpr std::size_t kUuidLength = 36;  // of its text

// Nothing unless `text` is a UUID of lowercase hex, which uuid_text() gives back.
[[nodiscard]] std::optional<Bytes> uuid_bytes(std::string_view text);
// `bytes`: kUuidBytes of them.
[[nodiscard]] std::string uuid_text(ByteView bytes);

}  // namespace assay::storage::sqlite
