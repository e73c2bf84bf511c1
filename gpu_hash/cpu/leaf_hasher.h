// SPDX-License-Identifier: Apache-2.0
// Many SHA computations side by side on one core: intel-ipsec-mb where the processor gains by it,
// OpenSSL everywhere. Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// What to hash: the byte `prefix`, then `size` bytes from `data` (a leaf or an inner node, RFC 9162
// section 2.1.1).
struct Message {
  std::uint8_t prefix;
  const std::uint8_t* data;
  std::size_t size;      // bytes, without the prefix
  std::uint8_t* digest;  // where digest_size() bytes go
};

// One hash algorithm on one core, for one thread at a time.
class LeafHasher {
 public:
  virtual ~LeafHasher() = default;
  // Messages that are computed side by side; that many at a time keep the hasher busy.
  [[nodiscard]] virtual std::size_t lanes() const = 0;
  // Longer messages, in bytes without the prefix, are computed one at a time.
  [[nodiscard]] virtual std::size_t longest() const {
    return std::numeric_limits<std::size_t>::max();
  }
  // Whether the prefix must also be in memory, in the byte before `data`.
  [[nodiscard]] virtual bool needs_prefix() const = 0;
  // Computes all digests; `messages` may be reordered. device-failed when the library refuses: then
  // no digest counts.
  [[nodiscard]] virtual Status hash(std::span<Message> messages) = 0;
};

// The ways to compute. All give the same digests.
enum class LeafVariant : std::uint8_t {
  kOpenSsl,    // one message at a time
  kAvx512,     // ipsec-mb: 16 SHA-256 or 8 SHA-384
  kAvx2ShaNi,  // ipsec-mb: 2 SHA-256 in the SHA extensions, 4 SHA-384
  kAvx2,       // ipsec-mb: 8 SHA-256, 4 SHA-384
};

// "openssl", "ipsec-mb-avx512", "ipsec-mb-avx2-sha-ni", "ipsec-mb-avx2".
[[nodiscard]] std::string_view name(LeafVariant variant);
// With the library's version: "ipsec-mb 1.3.0 avx512", "OpenSSL 3.0.19".
[[nodiscard]] std::string describe(LeafVariant variant);

// The ways that this build and this processor have. OpenSSL is always the first.
[[nodiscard]] const std::vector<LeafVariant>& leaf_variants();

// A hasher of that variant; null when this build or this processor has no such one.
[[nodiscard]] std::unique_ptr<LeafHasher> make_leaf_hasher(LeafVariant variant,
                                                           HashAlgorithm algorithm);

// Holds a hasher against OpenSSL: lengths around every border, alone and side by side.
// device-self-test-failed with `name`, the length and the wrong digest.
[[nodiscard]] Status test_leaf_hasher(std::string_view name, HashAlgorithm algorithm,
                                      LeafHasher& hasher);

// The fastest of leaf_variants() that passes its test, found out once in each process: a few
// milliseconds, because processors with the same features differ in what is faster.
[[nodiscard]] LeafVariant best_leaf_variant(HashAlgorithm algorithm);

// ipsec-mb's part of the above; null and empty in builds without the library.
[[nodiscard]] std::unique_ptr<LeafHasher> make_ipsec_hasher(LeafVariant variant,
                                                            HashAlgorithm algorithm);
[[nodiscard]] std::string ipsec_version();

}  // namespace assay::gpu_hash
