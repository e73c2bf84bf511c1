// SPDX-License-Identifier: Apache-2.0
// References, descriptors, manifests and indexes of OCI and of Docker's registry, read strictly.
// Spec: opencontainers/image-spec v1.1: descriptor.md, manifest.md, image-index.md; Docker image
// manifest version 2, schema 2.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::oci {

inline constexpr std::size_t kMaxManifestBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxDescriptors = 4096;  // of one manifest or index

inline constexpr std::string_view kImageManifest = "application/vnd.oci.image.manifest.v1+json";
inline constexpr std::string_view kImageIndex = "application/vnd.oci.image.index.v1+json";
inline constexpr std::string_view kDockerManifest =
    "application/vnd.docker.distribution.manifest.v2+json";
inline constexpr std::string_view kDockerList =
    "application/vnd.docker.distribution.manifest.list.v2+json";

// Something in a registry, by its name there.
struct Reference {
  std::string host;  // host[:port]
  std::string path;  // "acme/llama"
  std::string tag{};
  std::optional<Digest> digest{};  // counts before the tag

  // Returns "oci://host/path@sha256:...", or with ":tag" where there is no digest.
  [[nodiscard]] std::string text() const;
};

// Parses "oci://NAME@sha256:HEX" or "oci://NAME:TAG"; NAME as in schemas/image_name.h. Errors:
// schema-violation; usage without a digest and a tag.
[[nodiscard]] Result<Reference> parse_reference(std::string_view text);

struct ContentRef {
  std::string media_type;
  Digest digest;
  std::uint64_t size;
  std::string artifact_type{};
  std::map<std::string, std::string> annotations{};
  std::string platform{};  // "linux/amd64"; empty when there is none

  // Returns an annotation; empty when there is none.
  [[nodiscard]] std::string annotation(const std::string& name) const;
};

struct Manifest {
  bool is_index = false;
  std::string media_type;
  std::string artifact_type{};  // of an image: its own, or the media type of its config
  std::optional<ContentRef> config{};
  std::vector<ContentRef> parts{};  // layers, or the manifests of an index
  std::optional<ContentRef> subject{};
};

// Reads a manifest or index. `media_type` is what the registry or a descriptor says that it is;
// empty: unknown, and then the document says it. Errors: unsupported-media-type for another type,
// for a document that says another one, and for one that could be read as either; schema-violation;
// invalid-digest, also for digests of other algorithms than SHA-256; limit-exceeded; those of
// parse_json().
[[nodiscard]] Result<Manifest> parse_manifest(ByteView bytes, std::string_view media_type);

}  // namespace assay::oci
