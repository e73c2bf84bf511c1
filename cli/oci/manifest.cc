// SPDX-License-Identifier: Apache-2.0
#include "cli/oci/manifest.h"

#include <algorithm>
#include <utility>

#include "schemas/core/json_at.h"
#include "schemas/image_name.h"

namespace assay::oci {
namespace {

constexpr std::string_view kScheme = "oci://";
constexpr std::size_t kMaxManifestDepth = 16;
constexpr std::size_t kMaxTypeBytes = 255;

std::unexpected<Error> violates(const std::string& what, const std::string& where) {
  return fail(ErrorCode::kSchemaViolation, what, where);
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A media type or artifact type, without parameters.
bool is_media_type(std::string_view text) {
  return text.size() <= kMaxTypeBytes && std::ranges::count(text, '/') == 1 &&
         std::ranges::all_of(text, [](char c) {
           return is_word(c) || std::string_view("/.+-!#$&^").find(c) != std::string_view::npos;
         });
}

Result<std::map<std::string, std::string>> read_annotations(const Json& json,
                                                            const std::string& where) {
  std::map<std::string, std::string> annotations;
  if (!json.contains("annotations")) {
    return annotations;
  }
  if (!json["annotations"].is_object()) {
    return violates("annotations are an object of texts", where + "/annotations");
  }
  for (const auto& [name, value] : json["annotations"].items()) {
    if (!value.is_string()) {
      return violates("annotations are an object of texts", where + "/annotations/" + name);
    }
    annotations[name] = value.get<std::string>();
  }
  return annotations;
}

Result<Digest> read_digest(const Json& json, const std::string& where) {
  const auto digest = Digest::parse(text_at(json, "digest"));
  if (!digest || digest->algorithm() != HashAlgorithm::kSha256) {
    return fail(ErrorCode::kInvalidDigest, "digests are sha256: and 64 digits of lowercase hex",
                where + "/digest");
  }
  return *digest;
}

Result<ContentRef> read_descriptor(const Json& json, const std::string& where) {
  if (!json.is_object() || !is_media_type(text_at(json, "mediaType"))) {
    return violates("a descriptor has a media type", where + "/mediaType");
  }
  const Json& size = member_at(json, "size");
  if (!size.is_number_unsigned()) {
    return violates("a descriptor has a size", where + "/size");
  }
  ASSAY_ASSIGN(Digest digest, read_digest(json, where));
  ContentRef descriptor{text_at(json, "mediaType"), std::move(digest), size.get<std::uint64_t>()};
  descriptor.artifact_type = text_at(json, "artifactType");
  if (!descriptor.artifact_type.empty() && !is_media_type(descriptor.artifact_type)) {
    return violates("this is no artifact type", where + "/artifactType");
  }
  ASSAY_ASSIGN(descriptor.annotations, read_annotations(json, where));
  if (const Json& platform = object_at(json, "platform"); !platform.empty()) {
    descriptor.platform = text_at(platform, "os") + "/" + text_at(platform, "architecture");
    const std::string variant = text_at(platform, "variant");
    descriptor.platform += variant.empty() ? "" : "/" + variant;
  }
  return descriptor;
}

Result<std::vector<ContentRef>> read_list(const Json& json, const char* member) {
  const std::string where = std::string("/") + member;
  const Json& list = member_at(json, member);
  if (!list.is_array()) {
    return violates("this is a list of descriptors", where);
  }
  if (list.size() > kMaxDescriptors) {
    return fail(ErrorCode::kLimitExceeded,
                "more than " + std::to_string(kMaxDescriptors) + " descriptors", where);
  }
  std::vector<ContentRef> descriptors;
  for (const Json& one : list) {
    ASSAY_ASSIGN(ContentRef descriptor,
                 read_descriptor(one, where + "/" + std::to_string(descriptors.size())));
    descriptors.push_back(std::move(descriptor));
  }
  return descriptors;
}

// What the document is: what is said of it and what it says itself must agree, and its members must
// fit that type alone (a document that two readers could take for two things: CVE-2021-41190).
Result<std::string> type_of(const Json& json, std::string_view said) {
  const std::string own = text_at(json, "mediaType");
  if (json.contains("mediaType") && own.empty()) {
    return violates("this is a text", "/mediaType");
  }
  std::string type = said.empty() ? own : std::string(said);
  if (type.empty()) {
    type = json.contains("manifests") ? kImageIndex : kImageManifest;
  }
  const bool image = type == kImageManifest || type == kDockerManifest;
  if (!image && type != kImageIndex && type != kDockerList) {
    return fail(ErrorCode::kUnsupportedMediaType, "This is no manifest that is read: " + type);
  }
  if (!own.empty() && own != type) {
    return fail(ErrorCode::kUnsupportedMediaType,
                "The document says that it is " + own + ", its source says " + type);
  }
  if (image ? json.contains("manifests") : json.contains("layers") || json.contains("config")) {
    return fail(ErrorCode::kUnsupportedMediaType,
                "The document could be read as a manifest and as an index");
  }
  return type;
}

}  // namespace

std::string Reference::text() const {
  const std::string name = std::string(kScheme) + host + "/" + path;
  return digest ? name + "@" + digest->text() : name + ":" + tag;
}

Result<Reference> parse_reference(std::string_view text) {
  if (!text.starts_with(kScheme)) {
    return fail(ErrorCode::kUsage, "A reference is written as oci://NAME@sha256:HEX",
                std::string(text));
  }
  ASSAY_ASSIGN(ImageName name, parse_image_name(text.substr(kScheme.size())));
  const std::size_t slash = name.repository.find('/');
  Reference reference{name.repository.substr(0, slash), name.repository.substr(slash + 1)};
  if (!name.digest.empty()) {
    ASSAY_ASSIGN(reference.digest, Digest::parse(name.digest));
  }
  reference.tag = std::move(name.tag);
  if (!reference.digest && reference.tag.empty()) {
    return fail(ErrorCode::kUsage, "The reference has no digest: write oci://NAME@sha256:HEX",
                std::string(text));
  }
  return reference;
}

std::string ContentRef::annotation(const std::string& name) const {
  const auto found = annotations.find(name);
  return found == annotations.end() ? "" : found->second;
}

Result<Manifest> parse_manifest(ByteView bytes, std::string_view media_type) {
  JsonLimits limits;
  limits.max_bytes = kMaxManifestBytes;
  limits.max_depth = kMaxManifestDepth;
  ASSAY_ASSIGN(const Json json, parse_json(bytes, limits));
  if (!json.is_object() || number_at(json, "schemaVersion") != 2) {
    return violates("a manifest has the schema version 2", "/schemaVersion");
  }
  Manifest manifest;
  ASSAY_ASSIGN(manifest.media_type, type_of(json, media_type));
  manifest.is_index = manifest.media_type == kImageIndex || manifest.media_type == kDockerList;
  manifest.artifact_type = text_at(json, "artifactType");
  ASSAY_ASSIGN(manifest.parts, read_list(json, manifest.is_index ? "manifests" : "layers"));
  if (!manifest.is_index) {
    ASSAY_ASSIGN(manifest.config, read_descriptor(member_at(json, "config"), "/config"));
    if (manifest.artifact_type.empty()) {
      manifest.artifact_type = manifest.config->media_type;
    }
  }
  if (!manifest.artifact_type.empty() && !is_media_type(manifest.artifact_type)) {
    return violates("this is no artifact type", "/artifactType");
  }
  if (json.contains("subject")) {
    ASSAY_ASSIGN(manifest.subject, read_descriptor(json["subject"], "/subject"));
  }
  ASSAY_TRY(read_annotations(json, ""));
  return manifest;
}

}  // namespace assay::oci
