// SPDX-License-Identifier: Apache-2.0
// Bytes and their text forms. A function that takes a ByteView does not keep it after the call.
// Only types whose names end in View keep a ByteView.
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
// Returns `text` with A to Z in lower case, and every other byte as it is.
[[nodiscard]] std::string lower_case(std::string_view text);

// Returns lowercase hex, two characters for each byte.
[[nodiscard]] std::string hex_encode(ByteView bytes);
// Parses lowercase hex of even length. Uppercase is refused, so that each digest has only one
// spelling. Errors: invalid-encoding.
[[nodiscard]] Result<Bytes> hex_decode(std::string_view text);

// Encodes as RFC 4648 section 4, with padding.
[[nodiscard]] std::string base64_encode(ByteView bytes);
// Decodes RFC 4648 section 4. Accepts only the canonical form: padding present, unused bits zero,
// no white space. Errors: invalid-encoding.
[[nodiscard]] Result<Bytes> base64_decode(std::string_view text);
// Encodes as RFC 4648 section 5 without padding, as JOSE uses it.
[[nodiscard]] std::string base64url_encode(ByteView bytes);
// Decodes as base64_decode() does, in the standard or the URL-safe alphabet, because DSSE section 2
// allows both. Padding is required in either alphabet; one text must not mix the alphabets.
[[nodiscard]] Result<Bytes> base64_decode_any(std::string_view text);

// Compares in time that depends only on the lengths.
[[nodiscard]] bool constant_time_equal(ByteView a, ByteView b);

// Returns true when `text` is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms).
[[nodiscard]] bool is_utf8(std::string_view text);

// Overwrites memory in a way that the compiler does not remove.
void secure_wipe(std::span<std::uint8_t> bytes);

// Bytes that are wiped on destruction; not copyable, never printed.
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
