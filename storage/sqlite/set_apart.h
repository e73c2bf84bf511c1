// SPDX-License-Identifier: Apache-2.0
// Takes digests in hex, UUIDs and signatures in base64 out of a text. The text keeps a mark in
// place of each, and their bytes are kept beside it. Such values do not compress, and as characters
// they take up to twice as much room as their bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/bytes.h"

namespace assay::storage::sqlite {

// The marks. JSON has none of these characters unescaped (RFC 8259 section 7).
inline constexpr char kDigestMark = '\x01';     // 64 digits of lowercase hex: 32 bytes
inline constexpr char kUuidMark = '\x02';       // a UUID of lowercase hex: 16 bytes
inline constexpr char kSignatureMark = '\x03';  // what `"sig":"` begins: its length, its bytes

struct SetApart {
  std::string text;
  Bytes values;  // in the order of their marks
};

// Nothing for a text that has a mark already.
[[nodiscard]] std::optional<SetApart> set_apart(std::string_view text);
// The text that set_apart() was given. Nothing when marks and values do not fit each other.
[[nodiscard]] std::optional<std::string> put_back(std::string_view text, ByteView values);

}  // namespace assay::storage::sqlite
