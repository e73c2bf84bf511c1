// SPDX-License-Identifier: Apache-2.0
// Finds one entry on disk, hashes the spans that are asked for and compares them.
#include "gpu_hash/part_verify.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "gpu_hash/safetensors.h"
#include "gpu_hash/source_file.h"

namespace assay::gpu_hash {
namespace {

// An entry as a range of its file.
struct Place {
  const TensorEntry* tensor;
  const std::string& file;
  std::uint64_t offset;  // bytes from the start of the file
  std::uint64_t size;    // bytes
  const Digest& root;
};

Place place_of(const Entry& entry) {
  if (const auto* file = std::get_if<FileEntry>(&entry)) {
    return {nullptr, file->path, 0, file->size, file->root};
  }
  const auto& tensor = std::get<TensorEntry>(entry);
  return {&tensor, tensor.file, tensor.offset, tensor.size, tensor.root};
}

// Null when the model has no such file.
Result<std::shared_ptr<const SourceFile>> find_source(const std::filesystem::path& path,
                                                      const std::string& file,
                                                      const Artifact& artifact) {
  ASSAY_ASSIGN(const std::vector<WalkedFile> files, find_model(path, artifact));
  const auto found = std::ranges::find(files, file, &WalkedFile::path);
  return found == files.end() ? nullptr : found->source;
}

// Why the file cannot hold the object as it is expected, or nothing.
Result<std::string> misplaced(const SourceFile& source, const Place& place) {
  if (place.tensor == nullptr) {
    return source.size() == place.size ? std::string()
                                       : "the size is " + std::to_string(source.size()) +
                                             " instead of " + std::to_string(place.size) + " bytes";
  }
  const auto parsed = read_safetensors(source);
  if (!parsed && parsed.error().code != ErrorCode::kMalformedSafetensors) {
    return std::unexpected(parsed.error());
  }
  if (!parsed) {
    return "the file is no valid safetensors file: " + parsed.error().detail;
  }
  const TensorEntry& want = *place.tensor;
  const auto found = std::ranges::find(parsed->tensors, want.name, &Tensor::name);
  if (found == parsed->tensors.end()) {
    return std::string("the file has no such tensor");
  }
  return *found == Tensor{want.name, want.dtype, want.shape, want.offset, want.size}
             ? std::string()
             : "the tensor is at another place in its file, or of another dtype or shape";
}

// The spans that hold the range, or the whole object when only its root is known.
ByteRange bytes_to_read(const ByteRange& range, std::uint64_t size, const Outline* outline) {
  if (outline == nullptr) {
    return {0, size};
  }
  const std::uint64_t last = (range.end - 1) / outline->span + 1;
  return {range.begin / outline->span * outline->span, std::min(last * outline->span, size)};
}

std::vector<ByteRange> compare_spans(const ObjectDigests& actual, const ByteRange& checked,
                                     const std::vector<Digest>& expected, std::uint64_t span) {
  const std::span<const Digest> part =
      std::span(expected).subspan(checked.begin / span, actual.outline.size());
  std::vector<ByteRange> differing =
      differing_ranges(part, actual.outline, span, checked.end - checked.begin);
  for (ByteRange& range : differing) {
    range.begin += checked.begin;
    range.end += checked.begin;
  }
  return differing;
}

Status check(const Artifact& expected, const PartOptions& options) {
  ASSAY_TRY(assay::check(expected));
  if (options.outline != nullptr) {
    ASSAY_TRY(assay::check(*options.outline, expected));
  }
  if (options.entry >= expected.entries.size()) {
    return fail(ErrorCode::kInvalidParameter, "the artifact has no such entry");
  }
  const std::uint64_t size = place_of(expected.entries[options.entry]).size;
  if (options.range && (options.range->begin >= options.range->end || options.range->end > size)) {
    return fail(ErrorCode::kInvalidParameter,
                "the range must hold bytes of the object, which has " + std::to_string(size));
  }
  return {};
}

// Hashes what is to be read and compares it.
Status compare(const std::shared_ptr<const SourceFile>& source, const Artifact& expected,
               const PartOptions& options, Engine& engine, const HashRequest& request,
               VerifiedPart& result) {
  const Place place = place_of(expected.entries[options.entry]);
  const ByteRange& checked = result.checked;
  const Region region =
      file_region(source, place.offset + checked.begin, checked.end - checked.begin);
  ASSAY_ASSIGN(const std::vector<ObjectDigests> digests, engine.hash({&region, 1}, request));
  ASSAY_TRY(source->check_unchanged());
  if (const auto protection = source->protection()) {
    result.read_protection.add(*protection);
  }
  if (options.outline != nullptr && place.size > 0) {
    result.differing = compare_spans(digests.front(), checked,
                                     options.outline->entries[options.entry], request.outline_span);
  } else if (digests.front().root != place.root) {
    result.differing = {checked};
  }
  if (!result.differing.empty()) {
    result.detail = "the bytes differ";
  }
  return {};
}

}  // namespace

Result<VerifiedPart> verify_part(const std::filesystem::path& path, const Artifact& expected,
                                 const PartOptions& options, Engine& engine,
                                 const Progress& progress, const std::stop_token& stop) {
  const auto start = std::chrono::steady_clock::now();
  ASSAY_TRY(check(expected, options));
  const Place place = place_of(expected.entries[options.entry]);
  const ByteRange range = options.range.value_or(ByteRange{0, place.size});
  VerifiedPart result{{}, {}, {}, false, 0, engine.info()};
  ASSAY_ASSIGN(const auto source, find_source(path, place.file, expected));
  if (source == nullptr) {
    result.missing = true;
    result.detail = "this is part of the artifact and is not there";
    return result;
  }
  ASSAY_ASSIGN(result.detail, misplaced(*source, place));
  if (!result.detail.empty()) {
    return result;
  }
  const Outline* outline = place.size > 0 ? options.outline : nullptr;
  result.checked = bytes_to_read(range, place.size, outline);
  HashRequest request{expected.parameters, outline != nullptr ? outline->span : 0, {}, stop};
  if (progress) {
    const std::uint64_t total = result.checked.end - result.checked.begin;
    request.progress = [&progress, total](std::uint64_t done) { progress(done, total); };
  }
  ASSAY_TRY(compare(source, expected, options, engine, request, result));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.seconds = elapsed.count();
  return result;
}

}  // namespace assay::gpu_hash
