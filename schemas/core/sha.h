// SPDX-License-Identifier: Apache-2.0
// SHA-256 and SHA-384 (FIPS 180-4) of host memory, through OpenSSL's EVP interface. A failing EVP
// call means that memory is exhausted or the crypto provider is broken. The process then stops,
// because no caller could continue safely.
#pragma once

#include <initializer_list>
#include <memory>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"

struct evp_md_ctx_st;

namespace assay {

// Returns the hash of the concatenation of `parts`.
[[nodiscard]] Digest sha(HashAlgorithm algorithm, std::initializer_list<ByteView> parts);
[[nodiscard]] Digest sha(HashAlgorithm algorithm, ByteView bytes);
[[nodiscard]] Digest sha256(ByteView bytes);

// An incremental hash. One object may hash many messages; not thread-safe.
class ShaStream {
 public:
  explicit ShaStream(HashAlgorithm algorithm);
  ~ShaStream();
  ShaStream(ShaStream&&) noexcept;
  ShaStream& operator=(ShaStream&&) noexcept;

  void update(ByteView bytes);
  // Returns the digest of all bytes since the last finish(), and starts a new message.
  [[nodiscard]] Digest finish();
  // Returns a stream that has taken the same bytes.
  [[nodiscard]] ShaStream copy() const;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  void restart();

  HashAlgorithm algorithm_;
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace assay
