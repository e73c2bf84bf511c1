// SPDX-License-Identifier: Apache-2.0
// SHA through intel-ipsec-mb. Its job interface takes plain SHA as a job without a cipher; its
// burst call for hashes does not. A manager belongs to one thread.
#include <algorithm>
#include <array>

#include <intel-ipsec-mb.h>

#include "gpu_hash/cpu/leaf_hasher.h"
#include "schemas/core/handle.h"
#include "schemas/core/sha.h"

namespace assay::gpu_hash {
namespace {

using Manager = Handle<IMB_MGR, free_mb_mgr>;

[[nodiscard]] constexpr bool has(std::uint64_t features, std::uint64_t wanted) {
  return (features & wanted) == wanted;
}

// A manager that computes `variant`. init_mb_mgr_*() does not look at the processor: it runs the
// instructions that its name says, first of all in a self-test. So nobody may call it before
// runs_on() has agreed.
Manager make_manager(LeafVariant variant) {
  Manager manager(alloc_mb_mgr(variant == LeafVariant::kAvx2 ? IMB_FLAG_SHANI_OFF : 0));
  if (manager == nullptr) {
    return nullptr;
  }
  if (variant == LeafVariant::kAvx512) {
    init_mb_mgr_avx512(manager.get());
  } else {
    init_mb_mgr_avx2(manager.get());
  }
  return imb_get_errno(manager.get()) == 0 ? std::move(manager) : nullptr;
}

std::size_t lanes_of(LeafVariant variant, HashAlgorithm algorithm) {
  const bool sha256 = algorithm == HashAlgorithm::kSha256;
  switch (variant) {
    case LeafVariant::kAvx512:
      return sha256 ? 16 : 8;
    case LeafVariant::kAvx2ShaNi:
      return sha256 ? 2 : 4;
    default:
      return sha256 ? 8 : 4;
  }
}

class IpsecHasher final : public LeafHasher {
 public:
  IpsecHasher(Manager manager, LeafVariant variant, HashAlgorithm algorithm)
      : manager_(std::move(manager)),
        algorithm_(algorithm),
        lanes_(lanes_of(variant, algorithm)),
        alone_(make_leaf_hasher(LeafVariant::kOpenSsl, algorithm)) {}

  [[nodiscard]] std::size_t lanes() const override { return lanes_; }
  [[nodiscard]] std::size_t longest() const override { return kMaxMessage - 1; }
  [[nodiscard]] bool needs_prefix() const override { return true; }

  // All lanes cost as much as the longest message in them, so messages of like length go together,
  // and what would leave most lanes idle is computed alone.
  [[nodiscard]] Status hash(std::span<Message> messages) override {
    const auto same = [&](const Message& message) { return message.size == messages[0].size; };
    if (!std::ranges::all_of(messages, same)) {
      std::ranges::sort(messages, std::ranges::greater{}, &Message::size);
    }
    while (!messages.empty()) {
      const std::span<Message> group = messages.first(std::min(lanes_, messages.size()));
      if (pays(group)) {
        submit(group);
        messages = messages.subspan(group.size());
      } else {
        ASSAY_TRY(alone_->hash(messages.first(1)));
        messages = messages.subspan(1);
      }
    }
    while (IMB_JOB* job = IMB_FLUSH_JOB(manager_.get())) {
      note(*job);
    }
    return finish();
  }

 private:
  // The library counts in 16 bits: it refuses longer messages, and without its checks some of its
  // code computes wrong digests of them.
  static constexpr std::size_t kMaxMessage = 65534;  // bytes

  // `group` begins with its longest message. Half of the lanes at work is where the widest variant
  // is about as fast as OpenSSL.
  [[nodiscard]] bool pays(std::span<const Message> group) const {
    if (group.front().size > longest()) {
      return false;
    }
    std::size_t useful = 0;
    for (const Message& message : group) {
      useful += message.size + kPadding;
    }
    return 2 * useful > lanes_ * (group.front().size + kPadding);
  }

  void submit(std::span<const Message> group) {
    for (const Message& message : group) {
      IMB_JOB* job = IMB_GET_NEXT_JOB(manager_.get());
      *job = {};
      job->cipher_mode = IMB_CIPHER_NULL;
      job->cipher_direction = IMB_DIR_ENCRYPT;
      job->chain_order = IMB_ORDER_HASH_CIPHER;
      job->hash_alg = algorithm_ == HashAlgorithm::kSha256 ? IMB_AUTH_SHA_256 : IMB_AUTH_SHA_384;
      job->src = message.data - 1;
      job->msg_len_to_hash_in_bytes = message.size + 1;
      job->auth_tag_output = message.digest;
      job->auth_tag_output_len_in_bytes = digest_size(algorithm_);
      ++submitted_;
      if (const IMB_JOB* done = IMB_SUBMIT_JOB(manager_.get())) {
        note(*done);
      }
    }
  }

  void note(const IMB_JOB& job) { completed_ += job.status == IMB_STATUS_COMPLETED ? 1U : 0U; }

  [[nodiscard]] Status finish() {
    const bool all = submitted_ == completed_;
    submitted_ = completed_ = 0;
    return all ? Status{} : fail(ErrorCode::kDeviceFailed, "ipsec-mb refused to hash");
  }

  static constexpr std::size_t kPadding = 64;  // bytes, about

  Manager manager_;
  HashAlgorithm algorithm_;
  std::size_t lanes_;
  std::unique_ptr<LeafHasher> alone_;
  std::size_t submitted_ = 0;
  std::size_t completed_ = 0;
};

}  // namespace

// The library counts instructions for all of its ciphers (IMB_CPUFLAGS_*), and its self-test uses
// them. It asks the processor alone; GCC's functions ask whether the system keeps the registers,
// too.
ProcessorFeatures ipsec_features() {
  const Manager manager(alloc_mb_mgr(0));
  if (manager == nullptr) {
    return {};
  }
  const std::uint64_t features = manager->features;
  __builtin_cpu_init();
  return {
      .avx2 = has(features, IMB_CPUFLAGS_AVX2) && __builtin_cpu_supports("avx2") != 0,
      .avx512 = has(features, IMB_CPUFLAGS_AVX512) && __builtin_cpu_supports("avx512f") != 0,
      .sha = has(features, IMB_FEATURE_SHANI),
  };
}

std::unique_ptr<LeafHasher> make_ipsec_hasher(LeafVariant variant, HashAlgorithm algorithm,
                                              const ProcessorFeatures& features) {
  if (variant == LeafVariant::kOpenSsl || !runs_on(variant, features)) {
    return nullptr;
  }
  Manager manager = make_manager(variant);
  return manager == nullptr ? nullptr
                            : std::make_unique<IpsecHasher>(std::move(manager), variant, algorithm);
}

std::string ipsec_version() { return imb_get_version_str(); }

}  // namespace assay::gpu_hash
