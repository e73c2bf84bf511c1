// SPDX-License-Identifier: Apache-2.0
#include "schemas/anchor.h"

namespace assay {
namespace {

constexpr std::string_view kPluginPrefix = "plugin:";
constexpr std::uint8_t kPluginTag = 'p';

}  // namespace

Result<Anchor> Anchor::parse(std::string_view text) {
  if (text.starts_with(kPluginPrefix)) {
    ASSAY_ASSIGN(const Digest file,
                 Digest::from_hex(HashAlgorithm::kSha256, text.substr(kPluginPrefix.size())));
    return plugin(file);
  }
  ASSAY_ASSIGN(const Digest certificate, Digest::parse(text));
  return root(certificate);
}

Result<Anchor> Anchor::from_stored(ByteView bytes) {
  if (bytes.size() == digest_size(HashAlgorithm::kSha256) + 1 && bytes.front() == kPluginTag) {
    return plugin(Digest::wrap(HashAlgorithm::kSha256, bytes.data() + 1));
  }
  for (const HashAlgorithm algorithm : {HashAlgorithm::kSha256, HashAlgorithm::kSha384}) {
    if (bytes.size() == digest_size(algorithm)) {
      return root(Digest::wrap(algorithm, bytes.data()));
    }
  }
  return fail(ErrorCode::kDataLoss, "a stored anchor has the wrong length");
}

std::string Anchor::text() const {
  return is_plugin() ? std::string(kPluginPrefix) + digest_.hex() : digest_.text();
}

Bytes Anchor::stored() const {
  Bytes bytes;
  if (is_plugin()) {
    bytes.push_back(kPluginTag);
  }
  const ByteView digest = digest_.bytes();
  bytes.insert(bytes.end(), digest.begin(), digest.end());
  return bytes;
}

}  // namespace assay
