// SPDX-License-Identifier: Apache-2.0
#include "schemas/digest_set.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "schemas/core/ids.h"

namespace assay {
namespace {

constexpr std::string_view kArtifactDigestPrefix = "assay-tree-v1-";

// Algorithms of in-toto's DigestSet, and the length of their values in hex.
struct DigestForm {
  std::string_view name;
  std::size_t digits;
  std::size_t or_digits = 0;
};
constexpr std::array kDigestForms = {
    DigestForm{"md5", 32},         DigestForm{"sha1", 40},          DigestForm{"sha224", 56},
    DigestForm{"sha256", 64},      DigestForm{"sha384", 96},        DigestForm{"sha512", 128},
    DigestForm{"sha512_224", 56},  DigestForm{"sha512_256", 64},    DigestForm{"sha3_224", 56},
    DigestForm{"sha3_256", 64},    DigestForm{"sha3_384", 96},      DigestForm{"sha3_512", 128},
    DigestForm{"blake2s", 64},     DigestForm{"blake2b", 128},      DigestForm{"ripemd160", 40},
    DigestForm{"sm3", 64},         DigestForm{"gitCommit", 40, 64}, DigestForm{"gitTree", 40, 64},
    DigestForm{"gitBlob", 40, 64}, DigestForm{"gitTag", 40, 64}};

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// "SHA-256" and "sha256" are one for a reader and two for a program.
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '-' && c != '_') {
      out += lowered(c);
    }
  }
  return out;
}

bool is_lower_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

Status check_digest(const std::string& algorithm, const std::string& value) {
  if (algorithm.starts_with(kArtifactDigestPrefix)) {
    return ArtifactId::parse(algorithm + ":" + value)
               ? Status()
               : fail(ErrorCode::kInvalidDigest,
                      "an assay-tree-v1 digest is sha256 or sha384 in lowercase hex");
  }
  for (const DigestForm& form : kDigestForms) {
    if (algorithm == form.name) {
      const bool fits = value.size() == form.digits || value.size() == form.or_digits;
      return fits && is_lower_hex(value)
                 ? Status()
                 : fail(ErrorCode::kInvalidDigest, "a " + algorithm + " is " +
                                                       std::to_string(form.digits) +
                                                       " digits of lowercase hex");
    }
  }
  const std::string known = folded(algorithm);
  for (const DigestForm& form : kDigestForms) {
    if (known == folded(form.name)) {
      return fail(ErrorCode::kInvalidDigest, "the algorithm is spelled " + std::string(form.name));
    }
  }
  return known.starts_with(folded(kArtifactDigestPrefix))
             ? fail(ErrorCode::kInvalidDigest, "the algorithm is spelled assay-tree-v1-sha256")
             : Status();
}

}  // namespace assay
