// SPDX-License-Identifier: Apache-2.0
#include "schemas/anchor.h"

namespace assay {
namespace {

constexpr std::string_view kPluginPrefix = "plugin:";
constexpr std::string_view kKeySetPrefix = "jwks:";
constexpr std::uint8_t kPluginTag = 'p';
constexpr std::uint8_t kKeySetTag = 'k';

Result<Digest> digest_behind(std::string_view prefix, std::string_view text) {
  return Digest::from_hex(HashAlgorithm::kSha256, text.substr(prefix.size()));
}

}  // namespace

Result<Anchor> Anchor::parse(std::string_view text) {
  if (text.starts_with(kPluginPrefix)) {
    ASSAY_ASSIGN(const Digest file, digest_behind(kPluginPrefix, text));
    return plugin(file);
  }
  if (text.starts_with(kKeySetPrefix)) {
    ASSAY_ASSIGN(const Digest keys, digest_behind(kKeySetPrefix, text));
    return key_set(keys);
  }
  ASSAY_ASSIGN(const Digest certificate, Digest::parse(text));
  return root(certificate);
}

Result<Anchor> Anchor::from_stored(ByteView bytes) {
  if (bytes.size() == digest_size(HashAlgorithm::kSha256) + 1) {
    const Digest digest = Digest::wrap(HashAlgorithm::kSha256, bytes.data() + 1);
    if (bytes.front() == kPluginTag) {
      return plugin(digest);
    }
    if (bytes.front() == kKeySetTag) {
      return key_set(digest);
    }
  }
  for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    if (bytes.size() == digest_size(algorithm)) {
      return root(Digest::wrap(algorithm, bytes.data()));
    }
  }
  return fail(ErrorCode::kDataLoss, "a stored anchor has the wrong length");
}

std::string Anchor::text() const {
  switch (kind_) {
    case Kind::kPlugin:
      return std::string(kPluginPrefix) + digest_.hex();
    case Kind::kKeySet:
      return std::string(kKeySetPrefix) + digest_.hex();
    case Kind::kRoot:
      break;
  }
  return digest_.text();
}

Bytes Anchor::stored() const {
  Bytes bytes;
  if (!is_root()) {
    bytes.push_back(is_plugin() ? kPluginTag : kKeySetTag);
  }
  const ByteView digest = digest_.bytes();
  bytes.insert(bytes.end(), digest.begin(), digest.end());
  return bytes;
}

}  // namespace assay
