// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/digest.h"

#include <algorithm>

namespace assay {

std::string_view name(HashAlgorithm algorithm) {
  return algorithm == HashAlgorithm::kSha256 ? "sha256" : "sha384";
}

Result<HashAlgorithm> hash_algorithm_from(std::string_view name) {
  if (name == "sha256") {
    return HashAlgorithm::kSha256;
  }
  if (name == "sha384") {
    return HashAlgorithm::kSha384;
  }
  return fail(ErrorCode::kInvalidDigest, "the hash algorithm must be sha256 or sha384");
}

Result<Digest> Digest::from_bytes(HashAlgorithm algorithm, ByteView bytes) {
  if (bytes.size() != digest_size(algorithm)) {
    return fail(ErrorCode::kInvalidDigest, std::string(name(algorithm)) + " digests have " +
                                               std::to_string(digest_size(algorithm)) + " bytes");
  }
  return wrap(algorithm, bytes.data());
}

Result<Digest> Digest::from_hex(HashAlgorithm algorithm, std::string_view hex) {
  const auto bytes = hex_decode(hex);
  if (!bytes) {
    return fail(ErrorCode::kInvalidDigest, bytes.error().detail);
  }
  return from_bytes(algorithm, *bytes);
}

Result<Digest> Digest::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return fail(ErrorCode::kInvalidDigest,
                "this is not a digest; write it as sha256:<hex> or sha384:<hex>");
  }
  ASSAY_ASSIGN(const HashAlgorithm algorithm, hash_algorithm_from(text.substr(0, colon)));
  return from_hex(algorithm, text.substr(colon + 1));
}

std::string Digest::text() const { return std::string(name(algorithm_)) + ":" + hex(); }

}  // namespace assay
