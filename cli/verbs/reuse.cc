// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/reuse.h"

#include <charconv>
#include <chrono>
#include <utility>

#include "cli/documents/documents.h"
#include "client/files.h"
#include "schemas/core/json.h"
#include "schemas/core/outline.h"

namespace assay::cli {

namespace {

constexpr std::uint64_t kMaxTimesBytes = std::uint64_t{256} << 20;
constexpr std::uint64_t kMaxOutlineBytes = std::uint64_t{1} << 32;

std::unexpected<Error> violation(const std::string& where) {
  return fail(ErrorCode::kSchemaViolation, "This is no record of a model's file times", where);
}

// Nanoseconds since 1970 need more digits than every reader of JSON keeps, so they are strings.
Result<std::int64_t> nanoseconds_from(const Json& value, const std::string& where) {
  const auto* text = value.get_ptr<const std::string*>();
  std::int64_t number = 0;
  if (text == nullptr) {
    return violation(where);
  }
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size()) {
    return violation(where);
  }
  return number;
}

Result<gpu_hash::KnownFile> known_file_from(const Json& value, const std::string& path) {
  if (!value.is_object() || value.size() != 2 || !value.contains("size") ||
      !value.contains("mtime_ns") || !value["size"].is_number_unsigned()) {
    return violation(path);
  }
  ASSAY_ASSIGN(const std::int64_t mtime, nanoseconds_from(value["mtime_ns"], path));
  return gpu_hash::KnownFile{value["size"].get<std::uint64_t>(), mtime};
}

}  // namespace

std::string times_file(const std::string& manifest) { return manifest + ".times"; }

Status write_times(const std::string& manifest, const gpu_hash::HashedArtifact& hashed,
                   Timestamp began) {
  Json files = Json::object();
  for (const auto& [path, file] : hashed.files) {
    files[path] = {{"size", file.size}, {"mtime_ns", std::to_string(file.mtime_ns)}};
  }
  const std::chrono::nanoseconds time = began.time_since_epoch();
  const Json json = {{"v", 1},
                     {"artifact", hashed.id.text()},
                     {"hashed_at_ns", std::to_string(time.count())},
                     {"files", std::move(files)}};
  return client::write_file(times_file(manifest), json.dump(1) + "\n");
}

Result<gpu_hash::Reuse> load_reuse(const std::string& manifest, const std::string& outline) {
  ASSAY_ASSIGN(const LoadedDocument document, load_document(manifest));
  ASSAY_ASSIGN(Manifest old, manifest_of(document.payload));
  ASSAY_ASSIGN(const ArtifactId artifact, artifact_id(old));
  const std::string path = times_file(manifest);
  ASSAY_ASSIGN(const Bytes bytes, client::read_file(path, kMaxTimesBytes));
  ASSAY_ASSIGN(const Json json, parse_json(ByteView(bytes), {.max_bytes = kMaxTimesBytes}));
  if (!json.is_object() || json.size() != 4 || json.value("v", Json()) != 1 ||
      !json.contains("artifact") || !json.contains("hashed_at_ns") ||
      !json.value("files", Json()).is_object()) {
    return violation(path);
  }
  if (json["artifact"] != artifact.text()) {
    return fail(ErrorCode::kSubjectMismatch, "The recorded times are those of another artifact",
                path);
  }
  gpu_hash::Reuse reuse{std::move(old.artifact), {}, 0, {}};
  ASSAY_ASSIGN(reuse.hashed_at_ns, nanoseconds_from(json["hashed_at_ns"], path));
  for (const auto& [name, value] : json["files"].items()) {
    ASSAY_ASSIGN(const gpu_hash::KnownFile file, known_file_from(value, path));
    reuse.files.emplace(name, file);
  }
  if (!outline.empty()) {
    ASSAY_ASSIGN(const Bytes blob, client::read_file(outline, kMaxOutlineBytes));
    auto decoded = decode_outline(blob, reuse.artifact);
    if (!decoded) {
      return fail(decoded.error().code, decoded.error().detail, outline);
    }
    reuse.outline = *std::move(decoded);
  }
  return reuse;
}

}  // namespace assay::cli
