// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/uuid.h"

#include <array>
#include <utility>

namespace assay::storage::sqlite {
namespace {

constexpr std::array<std::size_t, 4> kDashes = {8, 13, 18, 23};  // in the text

}  // namespace

std::optional<Bytes> uuid_bytes(std::string_view text) {
  if (text.size() != kUuidLength) {
    return std::nullopt;
  }
  std::string digits;
  std::size_t begin = 0;
  for (const std::size_t dash : kDashes) {
    if (text[dash] != '-') {
      return std::nullopt;
    }
    digits += text.substr(begin, dash - begin);
    begin = dash + 1;
  }
  digits += text.substr(begin);
  auto bytes = hex_decode(digits);
  return bytes ? std::optional(*std::move(bytes)) : std::nullopt;
}

std::string uuid_text(ByteView bytes) {
  std::string text = hex_encode(bytes);
  for (const std::size_t dash : kDashes) {
    text.insert(dash, "-");
  }
  return text;
}

}  // namespace assay::storage::sqlite
