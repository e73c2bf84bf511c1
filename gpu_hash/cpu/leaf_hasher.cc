// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cpu/leaf_hasher.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include <openssl/crypto.h>

#include "schemas/core/sha.h"

namespace assay::gpu_hash {
namespace {

class OpenSslHasher final : public LeafHasher {
 public:
  explicit OpenSslHasher(HashAlgorithm algorithm) : stream_(algorithm) {}

  [[nodiscard]] std::size_t lanes() const override { return 1; }
  [[nodiscard]] bool needs_prefix() const override { return false; }

  [[nodiscard]] Status hash(std::span<Message> messages) override {
    for (const Message& message : messages) {
      stream_.update({&message.prefix, 1});
      stream_.update({message.data, message.size});
      const Digest digest = stream_.finish();
      std::ranges::copy(digest.bytes(), message.digest);
    }
    return {};
  }

 private:
  ShaStream stream_;
};

// Messages with room for a prefix in front of each.
class TestMessages {
 public:
  TestMessages(std::vector<std::size_t> sizes, HashAlgorithm algorithm) {
    std::size_t total = 0;
    for (const std::size_t size : sizes) {
      total += size + 1;
    }
    bytes_.resize(total);
    for (std::size_t i = 0; i < total; ++i) {
      bytes_[i] = static_cast<std::uint8_t>(i % 251);
    }
    digests_.resize(sizes.size() * digest_size(algorithm));
    std::size_t at = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      bytes_[at] = static_cast<std::uint8_t>(i % 2);
      messages.push_back({bytes_[at], bytes_.data() + at + 1, sizes[i],
                          digests_.data() + i * digest_size(algorithm)});
      at += sizes[i] + 1;
    }
  }

  std::vector<Message> messages;

 private:
  Bytes bytes_;
  Bytes digests_;
};

Status test_batch(std::string_view name, HashAlgorithm algorithm, LeafHasher& hasher,
                  std::vector<std::size_t> sizes) {
  TestMessages batch(std::move(sizes), algorithm);
  std::vector<Message> given = batch.messages;
  ASSAY_TRY(hasher.hash(given));
  for (const Message& message : batch.messages) {
    const Digest want =
        sha(algorithm, {ByteView(&message.prefix, 1), ByteView(message.data, message.size)});
    const Digest got = Digest::wrap(algorithm, message.digest);
    if (got != want) {
      return fail(ErrorCode::kDeviceSelfTestFailed,
                  std::string(name) + ": the hash of " + std::to_string(message.size + 1) +
                      " bytes came out as " + got.text() + " instead of " + want.text());
    }
  }
  return {};
}

// Seconds for one pass over chunks of the default size: few enough to be quick, enough for every
// lane.
double time_once(LeafHasher& hasher, TestMessages& batch) {
  const auto start = std::chrono::steady_clock::now();
  const Status status = hasher.hash(batch.messages);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return status ? elapsed.count() : std::numeric_limits<double>::infinity();
}

LeafVariant measure_best(HashAlgorithm algorithm) {
  struct Candidate {
    LeafVariant variant;
    std::unique_ptr<LeafHasher> hasher;
    double seconds = std::numeric_limits<double>::infinity();
  };
  std::vector<Candidate> candidates;
  const bool sha_ni = std::ranges::count(leaf_variants(), LeafVariant::kAvx2ShaNi) > 0;
  for (const LeafVariant variant : leaf_variants()) {
    if (variant == LeafVariant::kAvx2 && sha_ni) {
      continue;  // the same for SHA-384, never faster for SHA-256
    }
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the vector or the scope owns it
    std::unique_ptr<LeafHasher> hasher = make_leaf_hasher(variant, algorithm);
    if (hasher != nullptr && test_leaf_hasher(name(variant), algorithm, *hasher)) {
      candidates.push_back({variant, std::move(hasher)});
    }
  }
  if (candidates.size() < 2) {
    return LeafVariant::kOpenSsl;
  }
  // 16 chunks fill the widest of the variants. Taking turns spreads what else the machine does.
  constexpr int kRounds = 3;
  TestMessages batch(std::vector<std::size_t>(16, 16384), algorithm);
  for (int round = 0; round < kRounds; ++round) {
    for (Candidate& candidate : candidates) {
      candidate.seconds = std::min(candidate.seconds, time_once(*candidate.hasher, batch));
    }
  }
  return std::ranges::min_element(candidates, {}, &Candidate::seconds)->variant;
}

}  // namespace

std::string_view name(LeafVariant variant) {
  switch (variant) {
    case LeafVariant::kAvx512:
      return "ipsec-mb-avx512";
    case LeafVariant::kAvx2ShaNi:
      return "ipsec-mb-avx2-sha-ni";
    case LeafVariant::kAvx2:
      return "ipsec-mb-avx2";
    case LeafVariant::kOpenSsl:
      break;
  }
  return "openssl";
}

std::string describe(LeafVariant variant) {
  if (variant == LeafVariant::kOpenSsl) {
    return std::string("OpenSSL ") + OpenSSL_version(OPENSSL_VERSION_STRING);
  }
  constexpr std::string_view kLibrary = "ipsec-mb-";
  return "ipsec-mb " + ipsec_version() + " " + std::string(name(variant).substr(kLibrary.size()));
}

bool runs_on(LeafVariant variant, const ProcessorFeatures& features) {
  switch (variant) {
    case LeafVariant::kAvx512:
      return features.avx512;
    case LeafVariant::kAvx2ShaNi:
      return features.avx2 && features.sha;
    case LeafVariant::kAvx2:
      return features.avx2;
    case LeafVariant::kOpenSsl:
      break;
  }
  return true;
}

const std::vector<LeafVariant>& leaf_variants() {
  static const std::vector<LeafVariant> variants = [] {
    std::vector<LeafVariant> found = {LeafVariant::kOpenSsl};
    for (const LeafVariant variant :
         {LeafVariant::kAvx512, LeafVariant::kAvx2ShaNi, LeafVariant::kAvx2}) {
      if (make_leaf_hasher(variant, HashAlgorithm::kSha256) != nullptr) {
        found.push_back(variant);
      }
    }
    return found;
  }();
  return variants;
}

std::unique_ptr<LeafHasher> make_leaf_hasher(LeafVariant variant, HashAlgorithm algorithm) {
  return variant == LeafVariant::kOpenSsl ? std::make_unique<OpenSslHasher>(algorithm)
                                          : make_ipsec_hasher(variant, algorithm, ipsec_features());
}

Status test_leaf_hasher(std::string_view name, HashAlgorithm algorithm, LeafHasher& hasher) {
  // With the prefix: around the padding and block borders of both algorithms, and whole chunks.
  const std::vector<std::size_t> borders = {0,   1,   53,  54,  55,  56,   62,   63,
                                            64,  65,  109, 110, 111, 112,  118,  119,
                                            126, 127, 128, 129, 255, 4095, 4096, 4097};
  ASSAY_TRY(test_batch(name, algorithm, hasher, borders));
  ASSAY_TRY(test_batch(name, algorithm, hasher, {4096}));
  return test_batch(name, algorithm, hasher, std::vector<std::size_t>(hasher.lanes(), 4096));
}

LeafVariant best_leaf_variant(HashAlgorithm algorithm) {
  if (algorithm == HashAlgorithm::kSha256) {
    static const LeafVariant best = measure_best(HashAlgorithm::kSha256);
    return best;
  }
  static const LeafVariant best = measure_best(HashAlgorithm::kSha384);
  return best;
}

}  // namespace assay::gpu_hash
