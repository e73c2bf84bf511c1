// SPDX-License-Identifier: Apache-2.0
// Manifests and indexes of registries: a document that says nothing of its type is read as one
// thing alone, and what is read keeps within the limits. Challenges of registries, from the same
// bytes.
#include <cstdlib>

#include "cli/oci/credentials.h"
#include "cli/oci/manifest.h"

namespace {

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const ByteView bytes(data, size);
  const auto image = oci::parse_manifest(bytes, oci::kImageManifest);
  const auto index = oci::parse_manifest(bytes, oci::kImageIndex);
  require(!image || !index);
  for (const auto* one : {&image, &index}) {
    if (!*one) {
      continue;
    }
    const oci::Manifest& manifest = **one;
    require(manifest.is_index == (one == &index));
    require(manifest.is_index != manifest.config.has_value());
    require(manifest.parts.size() <= oci::kMaxDescriptors);
    for (const oci::ContentRef& part : manifest.parts) {
      require(!part.media_type.empty() && part.digest.algorithm() == HashAlgorithm::kSha256);
    }
  }
  const auto unnamed = oci::parse_manifest(bytes, {});
  require(!unnamed || unnamed->media_type.find("docker") != std::string::npos ||
          (unnamed->is_index ? index : image).has_value());
  if (const auto challenge = oci::parse_challenge(as_text(bytes))) {
    require(!challenge->scheme.empty() && challenge->scheme == lower_case(challenge->scheme));
  }
  return 0;
}
