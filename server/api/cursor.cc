// SPDX-License-Identifier: Apache-2.0
#include "server/api/cursor.h"

#include <array>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace assay::server {
namespace {

// version, after, below, tag
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kBodyBytes = 1 + 8 + 8;
constexpr std::size_t kTagBytes = 16;

void put(Bytes& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

std::uint64_t get(ByteView bytes) {
  std::uint64_t value = 0;
  for (const std::uint8_t byte : bytes.first(8)) {
    value = (value << 8) | byte;
  }
  return value;
}

}  // namespace

Bytes CursorCodec::tag(ByteView body, const Digest& query) const {
  Bytes message(body.begin(), body.end());
  const ByteView digest = query.bytes();
  message.insert(message.end(), digest.begin(), digest.end());
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> mac{};
  unsigned int size = 0;
  const ByteView key = key_.view();
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), message.data(), message.size(),
           mac.data(), &size) == nullptr) {
    std::abort();  // out of memory, or no crypto provider: no caller could go on safely
  }
  return {mac.begin(), mac.begin() + kTagBytes};
}

std::string CursorCodec::encode(const Cursor& cursor, const Digest& query) const {
  Bytes bytes = {kVersion};
  put(bytes, cursor.after);
  put(bytes, cursor.below);
  const Bytes mac = tag(bytes, query);
  bytes.insert(bytes.end(), mac.begin(), mac.end());
  return base64url_encode(bytes);
}

Result<Cursor> CursorCodec::decode(std::string_view text, const Digest& query) const {
  const auto refuse = [] {
    return fail(ErrorCode::kInvalidCursor,
                "use next_cursor as it was answered, with the same query");
  };
  std::string padded(text);
  padded.append((4 - padded.size() % 4) % 4, '=');
  const Result<Bytes> bytes = base64_decode_any(padded);
  if (!bytes || bytes->size() != kBodyBytes + kTagBytes || base64url_encode(*bytes) != text) {
    return refuse();
  }
  const ByteView body = ByteView(*bytes).first(kBodyBytes);
  if (!constant_time_equal(tag(body, query), ByteView(*bytes).subspan(kBodyBytes)) ||
      body.front() != kVersion) {
    return refuse();
  }
  return Cursor{get(body.subspan(1)), get(body.subspan(9))};
}

}  // namespace assay::server
