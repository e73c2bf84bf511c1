// SPDX-License-Identifier: Apache-2.0
// Flat digests: one hash over bytes in their order, as other tools sign files. Trees of ours are
// made of SHA-2 alone (schemas/core/digest.h); a flat digest only says what somebody else signed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

struct evp_md_ctx_st;

namespace assay {

enum class FlatHash : std::uint8_t {
  kSha256,   // FIPS 180-4
  kBlake2b,  // RFC 7693 with 512 bits, without a key
};

// Returns the size of a digest in bytes: 32 or 64.
[[nodiscard]] constexpr std::size_t flat_size(FlatHash hash) {
  return hash == FlatHash::kSha256 ? 32 : 64;
}
// Returns "sha256" or "blake2b".
[[nodiscard]] std::string_view name(FlatHash hash);
// Returns the hash with this name. Errors: invalid-digest for every other name.
[[nodiscard]] Result<FlatHash> flat_hash_from(std::string_view name);

// An incremental hash through OpenSSL. One object may hash many messages; not thread-safe. A
// failing call of OpenSSL stops the process (schemas/core/sha.h says why).
class FlatStream {
 public:
  explicit FlatStream(FlatHash hash);
  ~FlatStream();
  FlatStream(FlatStream&&) noexcept;
  FlatStream& operator=(FlatStream&&) noexcept;

  void update(ByteView bytes);
  // Returns the digest of all bytes since the last finish(), and starts a new message.
  [[nodiscard]] Bytes finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  void restart();

  FlatHash hash_;
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace assay
