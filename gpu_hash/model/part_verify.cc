// SPDX-License-Identifier: Apache-2.0
// Finds one entry on disk, hashes the spans that are asked for and compares them.
#include "gpu_hash/part_verify.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "gpu_hash/cut_file.h"
#include "gpu_hash/model/compare.h"
#include "gpu_hash/source_file.h"
#include "schemas/core/file_root.h"

namespace assay::gpu_hash {
namespace {

// The own bytes of an entry as a range of its file.
struct Place {
  const TensorEntry* tensor;
  const FileEntry* whole;  // for a file
  const std::string& file;
  std::uint64_t offset;  // bytes from the start of the file
  std::uint64_t size;    // bytes
  const Digest& root;
};

Place place_of(const Entry& entry) {
  const auto* tensor = std::get_if<TensorEntry>(&entry);
  return {tensor,          std::get_if<FileEntry>(&entry),
          file_of(entry),  tensor != nullptr ? tensor->offset : 0,
          own_size(entry), own_root(entry)};
}

// Nothing when the model has no such file.
Result<std::optional<WalkedFile>> find_file(const std::filesystem::path& path,
                                            const std::string& file, const Artifact& artifact) {
  ASSAY_ASSIGN(const std::vector<WalkedFile> files, find_model(path, artifact));
  const auto found = std::ranges::find(files, file, &WalkedFile::path);
  return found == files.end() ? std::nullopt : std::optional(*found);
}

// Why the header does not say that the tensor lies where it is expected, or nothing.
Result<std::string> misplaced(const SourceFile& source, const TensorEntry& want,
                              const Artifact& expected) {
  const std::optional<CutFormat> format = cut_as_in(expected)(want.file);
  if (!format) {
    return std::string("nothing says of which format the tensor's file is");
  }
  const auto header = read_cut(source, *format);
  if (!header && header.error().code != malformed_code(*format)) {
    return std::unexpected(header.error());
  }
  if (!header) {
    return "the file is no valid " + std::string(name(*format)) + " file: " + header.error().detail;
  }
  const auto found = std::ranges::find(header->tensors, want.name, &Tensor::name);
  if (found == header->tensors.end()) {
    return std::string("the file has no such tensor");
  }
  return *found == Tensor{want.name, want.dtype, want.shape, want.offset, want.size}
             ? std::string()
             : "the tensor is at another place in its file, or of another dtype or shape";
}

// Why the file cannot hold the bytes as they are expected, or nothing.
Result<std::string> misplaced(const SourceFile& source, const Place& place,
                              const Artifact& expected) {
  if (place.tensor != nullptr) {
    return misplaced(source, *place.tensor, expected);
  }
  return source.size() == place.whole->size
             ? std::string()
             : "the size is " + std::to_string(source.size()) + " instead of " +
                   std::to_string(place.whole->size) + " bytes";
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

Status check_range(const Entry& entry, const ByteRange& range) {
  const std::uint64_t size = own_size(entry);
  if (range.begin < range.end && range.end <= size) {
    return {};
  }
  const auto* file = std::get_if<FileEntry>(&entry);
  return fail(ErrorCode::kInvalidParameter,
              file != nullptr && file->cut
                  ? "the range must hold bytes of the file's header, which has " +
                        std::to_string(size) +
                        "; name a tensor for bytes behind it, of a manifest that lists tensors"
                  : "the range must hold bytes of the object, which has " + std::to_string(size));
}

Status check(const Artifact& expected, const PartOptions& options) {
  ASSAY_TRY(assay::check(expected));
  if (options.outline != nullptr) {
    ASSAY_TRY(assay::check(*options.outline, expected));
  }
  if (options.entry >= expected.entries.size()) {
    return fail(ErrorCode::kInvalidParameter, "the artifact has no such entry");
  }
  return options.range ? check_range(expected.entries[options.entry], *options.range) : Status();
}

// One file of the artifact with its tensors, and what the outline says of them.
struct OneFile {
  Artifact artifact;
  std::vector<std::vector<Digest>> outlines;
};

OneFile take_file(const Artifact& expected, const PartOptions& options) {
  OneFile one{{expected.parameters, {}}, {}};
  const std::string& path = file_of(expected.entries[options.entry]);
  for (std::size_t i = 0; i < expected.entries.size(); ++i) {
    if (file_of(expected.entries[i]) == path) {
      one.artifact.entries.push_back(expected.entries[i]);
      if (options.outline != nullptr) {
        one.outlines.push_back(options.outline->entries[i]);
      }
    }
  }
  return one;
}

// All bytes of a cut file, segment by segment.
Status compare_cut_file(const WalkedFile& file, const Artifact& expected,
                        const PartOptions& options, Engine& engine, const Progress& progress,
                        const std::stop_token& stop, VerifiedPart& result) {
  const OneFile one = take_file(expected, options);
  const bool outlined = options.outline != nullptr;
  const Expected what{one.artifact, outlined ? &one.outlines : nullptr,
                      outlined ? options.outline->span : 0};
  ASSAY_ASSIGN(const Verified verified, verify_files({file}, what, engine, progress, stop));
  result.checked = {0, file.source->size()};
  result.read_protection = verified.read_protection;
  std::map<std::optional<std::string>, std::uint64_t> offsets;  // of tensors in the file
  for (const TensorEntry* tensor : tensors_in(one.artifact.entries, file.path)) {
    offsets.emplace(tensor->name, tensor->offset);
  }
  for (const Difference& difference : verified.differences) {
    result.detail = result.detail.empty() ? difference.detail : result.detail;
    const std::uint64_t offset = offsets[difference.tensor];  // 0 for the file itself
    for (const ByteRange& range : difference.ranges) {
      result.differing.push_back({offset + range.begin, offset + range.end});
    }
  }
  std::ranges::sort(result.differing, {}, &ByteRange::begin);
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
  ASSAY_ASSIGN(const std::optional<WalkedFile> file, find_file(path, place.file, expected));
  if (!file) {
    result.missing = true;
    result.detail = "this is part of the artifact and is not there";
    return result;
  }
  ASSAY_ASSIGN(result.detail, misplaced(*file->source, place, expected));
  if (!result.detail.empty()) {
    return result;
  }
  const auto elapsed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  if (place.whole != nullptr && place.whole->cut && !options.range) {
    ASSAY_TRY(compare_cut_file(*file, expected, options, engine, progress, stop, result));
    result.seconds = elapsed();
    return result;
  }
  const Outline* outline = place.size > 0 ? options.outline : nullptr;
  result.checked = bytes_to_read(range, place.size, outline);
  HashRequest request{expected.parameters, outline != nullptr ? outline->span : 0, {}, stop};
  if (progress) {
    const std::uint64_t total = result.checked.end - result.checked.begin;
    request.progress = [&progress, total](std::uint64_t done) { progress(done, total); };
  }
  ASSAY_TRY(compare(file->source, expected, options, engine, request, result));
  result.seconds = elapsed();
  return result;
}

}  // namespace assay::gpu_hash
