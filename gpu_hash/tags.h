// SPDX-License-Identifier: Apache-2.0
// Keyed tags: a second look at memory that has been hashed once, as fast as memory can be read.
//
// What they are. A pass over the data that computes SHA-256 (or SHA-384) also computes, from the
// same loaded words, a tag of each block of 4 KiB of every chunk: NH with two Toeplitz keys (UMAC,
// RFC 4418 section 5.2.2), 2 x 64 bits, under a key drawn at random for this pass. A later pass
// computes the tags alone and compares.
//
// What they are good for. NH with 32-bit words and two Toeplitz keys is 2^-64-almost-universal: two
// different blocks of one length, chosen without knowledge of the key, have equal tags with
// probability at most 2^-64 over the key. Tags of blocks are hashed by the ordinary SHA tree and
// only those roots are compared, so a change of any number of blocks that an adversary makes over q
// rechecks under one key goes unseen with probability at most q * 2^-64, besides collisions of the
// hash. The bound holds against adversaries who choose what the memory holds but cannot read the
// memory of the process that checks, on the host or on the device: who knows the key can make
// collisions at will. So a key never leaves the process, is overwritten when it is no longer
// needed, and is drawn anew with every full pass and after any mismatch.
//
// What they are not. Tags never replace the first pass, prove nothing to anybody else and are never
// evidence by themselves. They say that memory is what it was at the full pass.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/error.h"
#include "schemas/core/random.h"

namespace assay::gpu_hash {

inline constexpr std::uint64_t kTagBlock = 4096;  // bytes under one tag
inline constexpr std::size_t kTagKeyWords = kTagBlock / 4 + 4;

// A secret. Overwritten when it is destroyed; not copied.
class TagKey {
 public:
  [[nodiscard]] static Result<TagKey> draw(Random& random);
  TagKey(TagKey&& other) noexcept;
  TagKey& operator=(TagKey&& other) noexcept;
  ~TagKey();
  TagKey(const TagKey&) = delete;
  TagKey& operator=(const TagKey&) = delete;
  [[nodiscard]] std::span<const std::uint32_t, kTagKeyWords> words() const { return words_; }

 private:
  TagKey() = default;
  std::array<std::uint32_t, kTagKeyWords> words_{};
};

// Reference implementation: the tag of a block of at most kTagBlock bytes, filled with zeros to a
// multiple of 32. Its length is not part of the tag: blocks at one place have one length.
[[nodiscard]] std::array<std::uint64_t, 2> tag_of_block(const TagKey& key, ByteView block);

// Digests that stand for the tags of one region: one per segment of the engine's choosing.
using TagRoots = std::vector<Digest>;

// A region whose bytes were hashed once and can be checked again. Not thread-safe.
class KeyedCheck {
 public:
  // The full pass: digests of `regions` (pieces of device memory of `engine`, beginning at
  // multiples of 16 bytes), and tags under a new key. `engine` must outlive this object. Errors of
  // Engine::hash(); invalid-parameter when the engine has no tags.
  [[nodiscard]] static Result<KeyedCheck> start(Engine& engine, std::vector<Region> regions,
                                                HashRequest request, Random& random);

  [[nodiscard]] const std::vector<ObjectDigests>& digests() const { return digests_; }

  // Tags alone: the numbers of regions whose memory is no longer what it was. After a mismatch the
  // key is gone, and so is this check: everything that follows fails with invalid-parameter, and
  // the next step is a full pass with start().
  [[nodiscard]] Result<std::vector<std::size_t>> recheck();

 private:
  KeyedCheck(Engine& engine, std::vector<Region> regions, HashRequest request, TagKey key)
      : engine_(&engine),
        regions_(std::move(regions)),
        request_(std::move(request)),
        key_(std::move(key)) {}

  Engine* engine_;
  std::vector<Region> regions_;
  HashRequest request_;
  std::optional<TagKey> key_;
  std::vector<ObjectDigests> digests_;
  std::vector<TagRoots> tags_;
};

}  // namespace assay::gpu_hash
