// SPDX-License-Identifier: Apache-2.0
// Keys and tags on the host, and the passes that compare.
#include "gpu_hash/tags.h"

#include <cstring>
#include <iterator>
#include <utility>

namespace assay::gpu_hash {
namespace {

void wipe(std::span<std::uint32_t> words) {
  secure_wipe({reinterpret_cast<std::uint8_t*>(words.data()), words.size_bytes()});
}

}  // namespace

Result<TagKey> TagKey::draw(Random& random) {
  TagKey key;
  std::array<std::uint8_t, kTagKeyWords * sizeof(std::uint32_t)> bytes{};
  Status status = random.fill(bytes);
  std::memcpy(key.words_.data(), bytes.data(), bytes.size());
  secure_wipe(bytes);
  ASSAY_TRY(std::move(status));
  return key;
}

TagKey::TagKey(TagKey&& other) noexcept : words_(other.words_) { wipe(other.words_); }

TagKey& TagKey::operator=(TagKey&& other) noexcept {
  if (this != &other) {
    words_ = other.words_;
    wipe(other.words_);
  }
  return *this;
}

TagKey::~TagKey() { wipe(words_); }

std::array<std::uint64_t, 2> tag_of_block(const TagKey& key, ByteView block) {
  std::array<std::uint8_t, kTagBlock> bytes{};
  std::memcpy(bytes.data(), block.data(), std::min<std::size_t>(block.size(), bytes.size()));
  std::array<std::uint64_t, 2> sums{};
  const std::size_t words = (std::min<std::size_t>(block.size(), bytes.size()) + 31) / 32 * 8;
  for (std::size_t toeplitz = 0; toeplitz < 2; ++toeplitz) {
    for (std::size_t group = 0; group < words; group += 8) {
      for (std::size_t i = group; i < group + 4; ++i) {
        const auto term = [&](std::size_t word) {
          std::uint32_t m = 0;
          std::memcpy(&m, bytes.data() + 4 * word, sizeof(m));
          return std::uint64_t{m + key.words()[word + 4 * toeplitz]};
        };
        sums[toeplitz] += term(i) * term(i + 4);
      }
    }
  }
  return sums;
}

Result<KeyedCheck> KeyedCheck::start(Engine& engine, std::vector<Region> regions,
                                     HashRequest request, Random& random) {
  ASSAY_ASSIGN(TagKey key, TagKey::draw(random));
  KeyedCheck check(engine, std::move(regions), std::move(request), std::move(key));
  ASSAY_ASSIGN(check.digests_,
               engine.hash_tagged(check.regions_, check.request_, *check.key_, check.tags_));
  return check;
}

Result<std::vector<std::size_t>> KeyedCheck::recheck() {
  ASSAY_ASSIGN(Part part, recheck(0, regions_.size()));
  return std::move(part.changed);
}

Result<KeyedCheck::Part> KeyedCheck::recheck(std::size_t first, std::size_t count,
                                             std::span<const Region> beside) {
  if (!key_) {
    return fail(ErrorCode::kInvalidParameter,
                "memory was found changed: only a full pass can follow");
  }
  const std::span<const Region> part = std::span(regions_).subspan(first, count);
  std::vector<Region> regions(part.begin(), part.end());
  regions.insert(regions.end(), beside.begin(), beside.end());
  ASSAY_ASSIGN(std::vector<TagRoots> now, engine_->tags(regions, request_, *key_));
  now.resize(regions.size());  // no tags are those of no region
  Part result;
  for (std::size_t i = 0; i < count; ++i) {
    if (now[i] != tags_.at(first + i)) {
      result.changed.push_back(first + i);
    }
  }
  if (!result.changed.empty()) {
    key_.reset();
  }
  result.beside.assign(std::make_move_iterator(now.begin() + static_cast<std::ptrdiff_t>(count)),
                       std::make_move_iterator(now.end()));
  return result;
}

}  // namespace assay::gpu_hash
