// SPDX-License-Identifier: Apache-2.0
// Bytes and their text forms. Input is a ByteView, which never outlives the call it is passed to
// unless the receiving type's name ends in View.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"

namespace assay {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

// Borrows the characters of `text` as bytes.
[[nodiscard]] ByteView as_bytes(std::string_view text);
// Borrows `bytes` as characters.
[[nodiscard]] std::string_view as_text(ByteView bytes);
[[nodiscard]] Bytes to_bytes(std::string_view text);

// Lowercase hex, two characters a byte.
[[nodiscard]] std::string hex_encode(ByteView bytes);
// Only lowercase digits and an even length: a digest has one spelling. invalid-encoding otherwise.
[[nodiscard]] Result<Bytes> hex_decode(std::string_view text);

// RFC 4648 section 4 with padding.
[[nodiscard]] std::string base64_encode(ByteView bytes);
// RFC 4648 section 4, canonical only (padding present, unused bits zero, no white space).
[[nodiscard]] Result<Bytes> base64_decode(std::string_view text);
// RFC 4648 section 5 without padding, as JOSE uses it.
[[nodiscard]] std::string base64url_encode(ByteView bytes);
// As base64_decode, in either alphabet (DSSE section 2 allows both), each with padding; never
// mixed.
[[nodiscard]] Result<Bytes> base64_decode_any(std::string_view text);

// Compares in time that depends on the lengths alone.
[[nodiscard]] bool constant_time_equal(ByteView a, ByteView b);

// True when `text` is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
[[nodiscard]] bool is_utf8(std::string_view text);

// Overwrites memory in a way the compiler keeps.
void secure_wipe(std::span<std::uint8_t> bytes);

// Bytes that are wiped when they go; not copyable, never printed.
class SecretBytes {
 public:
  SecretBytes() = default;
  explicit SecretBytes(Bytes bytes) : bytes_(std::move(bytes)) {}
  SecretBytes(SecretBytes&& other) noexcept : bytes_(std::move(other.bytes_)) {
    other.bytes_.clear();
  }
  SecretBytes& operator=(SecretBytes&& other) noexcept;
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;
  ~SecretBytes() { secure_wipe(bytes_); }

  [[nodiscard]] ByteView view() const { return bytes_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

 private:
  Bytes bytes_;
};

}  // namespace assay
