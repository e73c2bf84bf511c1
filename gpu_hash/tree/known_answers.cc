// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/tree/known_answers.h"

#include <array>
#include <string_view>

namespace assay::gpu_hash {
namespace {

// Chunk size 4096; an object of `size` bytes holds i mod 251 at byte i. The sizes lie around the
// borders of blocks, padding and chunks, and make trees of several levels with odd ends. Computed
// by the Python reference implementation in tests/support/reference.
struct KnownAnswer {
  std::size_t size;
  std::string_view root;
};

constexpr std::array<KnownAnswer, 12> kSha256Answers = {{
    {1, "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"},
    {54, "66e78c94beb028a07211b62d4dae7fe1b607afc6e088fb6ecb69375d79b3abd1"},
    {55, "5c57828c6496b5bebee064ab94381ff360d9f79677927bdde280566bcc9b78bc"},
    {63, "0235748259260cdb6ac04bf08be334c2ce812c1546adb85379836f96d3c694f9"},
    {110, "22ab52f09a946a50e8edb0e1acb0409c5acc53103ef4d6c68d25f10f9af19e5a"},
    {111, "2eb19724044661313d8f64538d1fbc0fe6df614c7ceb489021a77fbb88607ccf"},
    {127, "82fec4bf3dde768904c7079328e94c30cc654612f118701587401d5fa1449278"},
    {4095, "5d6b173f044ad9abfa7c7ed1d064a2581c0cf8a20a9829a5d18d6e47c3ebf163"},
    {4096, "c46b7e9f32bd7ac69139854bf809012fd58ea09765b26f84425175557b080a31"},
    {4097, "20d6edb4716923f423bc8d5ffbe4e0caff847f4f8edf46308de4ee9654f0f663"},
    {12289, "936e03679cee9fd55b940d6c12ea1ce93b8412e97c58dd64e9d5c5807d91bc77"},
    {69637, "bda10df5d213321ac521e5e8b99043d443d23b12ad3a18ae53ef6dec41f58fab"},
}};

constexpr std::array<KnownAnswer, 12> kSha384Answers = {{
    {1,
     "1dd6f7b457ad880d840d41c961283bab688e94e4b59359ea"
     "45686581e90feccea3c624b1226113f824f315eb60ae0a7c"},
    {54,
     "dba0ea4c6abbccf1c0b175f57751eb83ed85e5e2970fcdc0"
     "d0c2625ea0ae58c67a2523c891aa7d53b81d60d853e62634"},
    {55,
     "196fe306935148b9c46b4ba7530cbc8c517f5d23d08b9e1e"
     "1aacac1d7a03cce7deedf815e5373cb88cfbbec3e2042485"},
    {63,
     "3b155cc6a17b272966fb94b926b7271d1c03707ea0618bf5"
     "7d3c3e518f9b410df1b89bb41d98bfbef6a78250967d6df6"},
    {110,
     "e152672114e4b1ea9521d800e0c8612634c60e773a8551b2"
     "33d2c2ce3a00911df99a89fe9ea28d390caeb89c8cbf5d12"},
    {111,
     "bbfd063e1d443b4489c7352ce29da640953aaab40295a7cb"
     "d5f0babe0d30905d87373dad50dd33ff5f81ba7201e1cfb2"},
    {127,
     "54a24246803661ee243bc882c457ee75b2ea349e928fd50b"
     "327fd532dbc107e03357b8a5d65a68581576bb6cc09cac20"},
    {4095,
     "8dce1b7fd436d1c7b0cdfb1fee014ea88bb127f5adb15550"
     "c676a4995dec25918492ff937c9df6668a50d4e6ff3bc40e"},
    {4096,
     "f94d1dd4d44efeda46b6baa02702aafcf8dd13a725363d48"
     "2a2c766a16730759dc685dd53e2337d3133739624d088bbf"},
    {4097,
     "88c28e7a2bffda784802d0c9288719a5f1e77dd607effe65"
     "d8828c11632e25adff4c4af1845bbe0dbf1ee7c22e6c2fbc"},
    {12289,
     "ae59fc09788b0ca7202c8635cc9514a263693b8545ed249a"
     "7f26c5c8ce2796942b32061435587a2cd1d68ee347aa41c9"},
    {69637,
     "41b04bc22e4508b65b036387e32dc37595a36880bf0b0315"
     "c427e0506dddf9b777b65f9afb60a314859efc3f9cd0263c"},
}};

constexpr std::uint32_t kChunkSize = 4096;

// One leaf of the largest chunk size, but for a byte: some devices end loops after a number of
// turns (llvmpipe after 65,535) and say nothing. The object of one byte in front of it makes it
// begin at an odd address where engines leave no gaps.
constexpr std::array<KnownAnswer, 2> kSha256Longest = {{
    kSha256Answers[0],
    {1048575, "2dc4819212832ea69532e005288d8ff402d46a01450985e7bddde5d322535096"},
}};
constexpr std::array<KnownAnswer, 2> kSha384Longest = {{
    kSha384Answers[0],
    {1048575,
     "a950dd332c0b58748c18164a46a0e703bfdb22df0927b846"
     "eb99cd257ce447fefd5e075e687f03b130c5fa710ad18900"},
}};

Status test(const std::string& device, const TreeParameters& parameters,
            std::span<const KnownAnswer> known, const HashFunction& hash) {
  Bytes pattern(known.back().size);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    pattern[i] = static_cast<std::uint8_t>(i % 251);
  }
  std::vector<Region> regions;
  for (const KnownAnswer& answer : known) {
    regions.push_back(host_region(ByteView(pattern).first(answer.size)));
  }
  ASSAY_ASSIGN(const std::vector<ObjectDigests> digests,
               hash(regions, HashRequest{parameters, 0, {}, {}}));
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::string got = i < digests.size() ? digests[i].root.hex() : "nothing";
    if (got != known[i].root) {
      return fail(ErrorCode::kDeviceSelfTestFailed,
                  device + ": the " + std::string(name(parameters.hash)) + " root of " +
                      std::to_string(known[i].size) + " bytes came out as " + got + " instead of " +
                      std::string(known[i].root));
    }
  }
  return {};
}

}  // namespace

Status self_test(const std::string& device, HashAlgorithm algorithm, const HashFunction& hash) {
  const bool sha256 = algorithm == HashAlgorithm::kSha256;
  ASSAY_TRY(test(device, {algorithm, kChunkSize}, sha256 ? kSha256Answers : kSha384Answers, hash));
  return test(device, {algorithm, kMaxChunkSize}, sha256 ? kSha256Longest : kSha384Longest, hash);
}

}  // namespace assay::gpu_hash
