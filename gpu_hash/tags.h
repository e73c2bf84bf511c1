// SPDX-License-Identifier: Apache-2.0
// Keyed tags, which check that memory has not changed since it was hashed. The check runs as fast
// as the memory can be read.
//
// Definition. A full pass over the data computes SHA-256 (or SHA-384) and also a tag of each block
// of 4 KiB of every chunk. The tag is computed from the words that are loaded for the hash. The tag
// is NH with two Toeplitz keys (UMAC, RFC 4418 section 5.2.2) and has 2 x 64 bits. Its key is drawn
// at random for this pass. A later pass computes the tags alone and compares them.
//
// Security. NH with 32-bit words and two Toeplitz keys is 2^-64-almost-universal. Two different
// blocks of the same length, chosen without knowledge of the key, have equal tags with probability
// at most 2^-64 over the choice of the key. Tags of blocks are hashed by the ordinary SHA tree, and
// only the roots are compared. An adversary may change any number of blocks. Over q rechecks under
// one key the change stays unseen with probability at most q * 2^-64, apart from collisions of the
// hash.
//
// The bound holds against adversaries who choose the content of the memory but cannot read the
// memory of the checking process, including its memory on the device. An adversary who knows the
// key can make collisions at will. A key therefore never leaves the process and is overwritten when
// it is no longer needed. A new key is drawn for every full pass and after any mismatch.
//
// Limits. Tags never replace the full pass, prove nothing to other parties and are never evidence
// by themselves. Tags only show that memory is the same as at the full pass.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/error.h"
#include "schemas/core/random.h"

namespace assay::gpu_hash {

inline constexpr std::uint64_t kTagBlock = 4096;  // bytes that one tag covers
inline constexpr std::size_t kTagKeyWords = kTagBlock / 4 + 4;

// The secret key of the tags. The key is overwritten when this object is destroyed, and cannot be
// copied.
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

// Computes the tag of a block of at most kTagBlock bytes; the reference implementation. The block
// is filled with zeros to a multiple of 32 bytes. Its length is not part of the tag, because the
// block at one position of the data always has the same length.
[[nodiscard]] std::array<std::uint64_t, 2> tag_of_block(const TagKey& key, ByteView block);

// Digests over the tags of one region, one for each segment (part) of the region. The engine
// chooses the segments.
using TagRoots = std::vector<Digest>;

// Regions whose bytes were hashed once and can be checked again. Not thread-safe.
class KeyedCheck {
 public:
  // Runs the full pass: computes digests of `regions` and tags under a new key. `regions` are
  // pieces of device memory of `engine` that begin at multiples of 16 bytes. `engine` must outlive
  // this object. Errors: those of Engine::hash(); invalid-parameter when the engine has no tags.
  [[nodiscard]] static Result<KeyedCheck> start(Engine& engine, std::vector<Region> regions,
                                                HashRequest request, Random& random);

  [[nodiscard]] const std::vector<ObjectDigests>& digests() const { return digests_; }

  // Computes the tags alone and returns the numbers of the regions whose memory has changed. A
  // mismatch destroys the key. Every later call then fails with invalid-parameter, and the caller
  // must make a new full pass with start().
  [[nodiscard]] Result<std::vector<std::size_t>> recheck();

  struct Part {
    std::vector<std::size_t> changed;  // numbers of regions
    std::vector<TagRoots> beside;      // tags of the regions beside them; only to be compared
  };
  // The same for regions `first` to `first + count - 1` alone, which must exist. Computes the tags
  // of the regions `beside` in the same call, under the same key. Errors also: invalid-parameter
  // when tags cannot begin where one of these begins.
  [[nodiscard]] Result<Part> recheck(std::size_t first, std::size_t count,
                                     std::span<const Region> beside = {});

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
