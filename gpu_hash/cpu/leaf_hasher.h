// SPDX-License-Identifier: Apache-2.0
// Many SHA computations side by side on one core. Uses intel-ipsec-mb on processors where it is
// faster, and OpenSSL on all others. Internal to this folder.
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

// One message to hash: the byte `prefix`, then `size` bytes from `data`. The message is a leaf or
// an inner node (RFC 9162 section 2.1.1).
struct Message {
  std::uint8_t prefix;
  const std::uint8_t* data;
  std::size_t size;      // bytes, without the prefix
  std::uint8_t* digest;  // digest_size() bytes are written here
};

// Hashes with one algorithm on one core. Used by one thread at a time.
class LeafHasher {
 public:
  virtual ~LeafHasher() = default;
  // Returns the number of messages that are computed side by side. With fewer messages in a call, a
  // part of the hasher is idle.
  [[nodiscard]] virtual std::size_t lanes() const = 0;
  // Returns the longest message that is computed side by side, in bytes without the prefix. Longer
  // messages are computed one at a time.
  [[nodiscard]] virtual std::size_t longest() const {
    return std::numeric_limits<std::size_t>::max();
  }
  // Returns true when the prefix must also be stored in memory, in the byte before `data`.
  [[nodiscard]] virtual bool needs_prefix() const = 0;
  // Computes all digests. `messages` may be reordered. Errors: device-failed when the library
  // refuses; all digests are then invalid.
  [[nodiscard]] virtual Status hash(std::span<Message> messages) = 0;
};

// The implementations. All of them compute the same digests.
enum class LeafVariant : std::uint8_t {
  kOpenSsl,    // one message at a time
  kAvx512,     // ipsec-mb: 16 SHA-256 or 8 SHA-384
  kAvx2ShaNi,  // ipsec-mb: 2 SHA-256 in the SHA extensions, 4 SHA-384
  kAvx2,       // ipsec-mb: 8 SHA-256, 4 SHA-384
};

// Returns "openssl", "ipsec-mb-avx512", "ipsec-mb-avx2-sha-ni" or "ipsec-mb-avx2".
[[nodiscard]] std::string_view name(LeafVariant variant);
// Returns the name with the library's version: "ipsec-mb 1.3.0 avx512", "OpenSSL 3.0.19".
[[nodiscard]] std::string describe(LeafVariant variant);

// Instructions that the variants need. A member is true only when the processor has them and the
// operating system keeps their registers.
struct ProcessorFeatures {
  bool avx2 = false;
  bool avx512 = false;
  bool sha = false;
};

// Returns whether `variant` may run on a processor with `features`.
[[nodiscard]] bool runs_on(LeafVariant variant, const ProcessorFeatures& features);

// Returns the variants that this build and this processor support. OpenSSL is always the first.
[[nodiscard]] const std::vector<LeafVariant>& leaf_variants();

// Makes a hasher of `variant`. Returns null when this build or this processor does not support it.
[[nodiscard]] std::unique_ptr<LeafHasher> make_leaf_hasher(LeafVariant variant,
                                                           HashAlgorithm algorithm);

// Compares a hasher with OpenSSL. Tests lengths around every block border, one message alone and
// several side by side. Errors: device-self-test-failed with `name`, the length and the wrong
// digest.
[[nodiscard]] Status test_leaf_hasher(std::string_view name, HashAlgorithm algorithm,
                                      LeafHasher& hasher);

// Returns the fastest of leaf_variants() that passes its test. The choice is measured once in each
// process, in a few milliseconds, because processors with the same features differ in which variant
// is fastest.
[[nodiscard]] LeafVariant best_leaf_variant(HashAlgorithm algorithm);

// The parts of ipsec-mb: what this processor has of what the library needs; a hasher, or null when
// runs_on() says no; the version. In builds without the library there are no features, and the
// version is empty.
[[nodiscard]] ProcessorFeatures ipsec_features();
[[nodiscard]] std::unique_ptr<LeafHasher> make_ipsec_hasher(LeafVariant variant,
                                                            HashAlgorithm algorithm,
                                                            const ProcessorFeatures& features);
[[nodiscard]] std::string ipsec_version();

}  // namespace assay::gpu_hash
