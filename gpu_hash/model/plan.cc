// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/model/plan.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <string_view>
#include <utility>

#include "schemas/core/merkle.h"

namespace assay::gpu_hash {
namespace {

using SegmentKind = FileSegment::Kind;

std::unexpected<Error> cancelled() {
  return fail(ErrorCode::kCancelled, "hashing was stopped on request");
}

bool lists_files(const ArtifactPlan& plan) { return plan.objects_listed != Objects::kTensors; }
bool lists_tensors(const ArtifactPlan& plan) { return plan.objects_listed != Objects::kFiles; }

// The header of file `index`; nothing for a file that is one segment, or that does not parse.
Result<std::optional<CutHeader>> header_of(ArtifactPlan& plan, std::size_t index,
                                           std::optional<CutFormat> cut) {
  if (!cut) {
    return std::nullopt;
  }
  auto header = read_cut(*plan.files[index].source, *cut);
  if (header) {
    return *std::move(header);
  }
  if (header.error().code != malformed_code(*cut)) {
    return std::unexpected(std::move(header).error());
  }
  plan.malformed.push_back({index, *cut, std::move(header).error()});
  return std::nullopt;
}

Status plan_file(ArtifactPlan& plan, std::size_t index, std::optional<CutFormat> cut) {
  const std::uint64_t size = plan.files[index].source->size();
  ASSAY_ASSIGN(std::optional<CutHeader> header, header_of(plan, index, cut));
  PlannedFile planned{header ? cut : std::nullopt, plan.objects.size(), 0};
  if (!header && lists_files(plan)) {
    plan.objects.push_back({index, {SegmentKind::kFile, 0, size}, std::nullopt});
  }
  // Headers without end would fill the memory, listed or not.
  if (header && plan.objects.size() + header->tensors.size() > 2 * kMaxEntries) {
    return fail(ErrorCode::kLimitExceeded, "the files have too many tensors",
                plan.files[index].path);
  }
  for (const FileSegment& segment :
       header ? segments_of(*header, size) : std::vector<FileSegment>()) {
    if (segment.kind == SegmentKind::kTensor) {
      plan.objects.push_back({index, segment, std::move(header->tensors[segment.tensor])});
    } else if (lists_files(plan)) {
      plan.objects.push_back({index, segment, std::nullopt});
    }
  }
  planned.end = plan.objects.size();
  plan.planned.push_back(planned);
  return {};
}

Region region_of(const ArtifactPlan& plan, const PlannedObject& object) {
  return file_region(plan.files[object.file].source, object.segment.offset, object.segment.size);
}

Entry tensor_entry(const std::string& path, const Tensor& tensor, const Digest& root) {
  return TensorEntry{tensor.name,   tensor.dtype, tensor.shape, path,
                     tensor.offset, tensor.size,  root};
}

// The entry of a file, from the digests of its objects.
HashedEntry file_entry(const ArtifactPlan& plan, std::size_t index,
                       std::span<ObjectDigests> digests) {
  const PlannedFile& planned = plan.planned[index];
  const WalkedFile& file = plan.files[index];
  ObjectDigests& own = digests.front();  // the header, or all of the file
  std::vector<Digest> roots;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (plan.objects[planned.first + i].segment.size > 0 || !planned.cut) {
      roots.push_back(digests[i].root);
    }
  }
  FileEntry entry{file.path, file.source->size(), merkle_root(own.root.algorithm(), roots)};
  if (planned.cut) {
    entry.cut = Cut{*planned.cut, plan.objects[planned.first].segment.size, own.root};
  }
  return {std::move(entry), std::move(own.outline)};
}

EntriesOfFile entries_of(const ArtifactPlan& plan, std::size_t index,
                         std::span<ObjectDigests> digests) {
  EntriesOfFile entries;
  const std::size_t first = plan.planned[index].first;
  if (lists_files(plan)) {
    entries.push_back(file_entry(plan, index, digests));
  }
  std::vector<std::size_t> tensors;
  for (std::size_t i = 0; lists_tensors(plan) && i < digests.size(); ++i) {
    if (plan.objects[first + i].tensor) {
      tensors.push_back(i);
    }
  }
  const auto tensor_at = [&](std::size_t i) -> const Tensor& {
    return *plan.objects[first + i].tensor;
  };
  std::ranges::sort(tensors, {},
                    [&](std::size_t i) { return std::string_view(tensor_at(i).name); });
  for (const std::size_t i : tensors) {
    entries.push_back({tensor_entry(plan.files[index].path, tensor_at(i), digests[i].root),
                       std::move(digests[i].outline)});
  }
  return entries;
}

// Artifact order: all files, then all tensors.
void collect(std::vector<EntriesOfFile> found, bool outlines, PlannedArtifact& result) {
  for (const bool tensors : {false, true}) {
    for (HashedEntry& item : found | std::views::join) {
      if (std::holds_alternative<TensorEntry>(item.entry) != tensors) {
        continue;
      }
      result.artifact.entries.push_back(std::move(item.entry));
      if (outlines) {
        result.outlines.push_back(std::move(item.outline));
      }
    }
  }
}

bool is_known(const KnownEntries& known, std::size_t file) {
  return !known.empty() && known[file].has_value();
}

}  // namespace

Result<ArtifactPlan> plan_artifact(std::vector<WalkedFile> files, const CutRule& rule,
                                   Objects objects, const std::stop_token& stop) {
  ArtifactPlan plan;
  plan.objects_listed = objects;
  plan.files = std::move(files);
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    ASSAY_TRY(plan_file(plan, i, rule(plan.files[i].path)));
  }
  if (entry_count(plan) > kMaxEntries) {
    return fail(ErrorCode::kLimitExceeded, "an artifact has at most 1048576 entries");
  }
  return plan;
}

std::size_t entry_count(const ArtifactPlan& plan) {
  const auto tensors = std::ranges::count_if(
      plan.objects, [](const PlannedObject& object) { return object.tensor.has_value(); });
  return (lists_files(plan) ? plan.files.size() : 0) +
         (lists_tensors(plan) ? static_cast<std::size_t>(tensors) : 0);
}

bool reads_once(const ArtifactPlan& plan, const KnownEntries& known, std::uint64_t room) {
  std::uint64_t total = 0;
  for (const PlannedObject& object : plan.objects) {
    total += is_known(known, object.file) ? 0 : object.segment.size;
  }
  return total > room;
}

Result<PlannedArtifact> hash_plan(const ArtifactPlan& plan, const TreeParameters& parameters,
                                  std::uint64_t outline_span, Engine& engine,
                                  const Progress& progress, const std::stop_token& stop,
                                  KnownEntries known) {
  PlannedArtifact result{{parameters, {}}, {}, 0};
  std::vector<Region> regions;
  regions.reserve(plan.objects.size());
  for (const PlannedObject& object : plan.objects) {
    if (!is_known(known, object.file)) {
      regions.push_back(region_of(plan, object));
      ASSAY_ASSIGN(const std::uint64_t size, region_size(regions.back()));
      result.bytes += size;
    }
  }
  const bool once = reads_once(plan, known, page_cache_room());
  for (std::size_t i = 0; once && i < plan.files.size(); ++i) {
    plan.files[i].source->read_once();
  }
  HashRequest request{parameters, outline_span, {}, stop};
  if (progress) {
    request.progress = [&](std::uint64_t done) { progress(done, result.bytes); };
  }
  ASSAY_ASSIGN(std::vector<ObjectDigests> hashed, engine.hash(regions, request));
  // A file that changed after its own bytes were read would leave the artifact as no moment saw it.
  NearDirectory near;
  for (const WalkedFile& file : plan.files) {
    ASSAY_TRY(file.source->check_unchanged(near));
  }
  std::vector<EntriesOfFile> found;
  std::span<ObjectDigests> rest(hashed);
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    if (is_known(known, i)) {
      found.push_back(*std::move(known[i]));
      continue;
    }
    const std::size_t count = plan.planned[i].end - plan.planned[i].first;
    const std::span<ObjectDigests> own = rest.first(count);
    rest = rest.subspan(count);
    found.push_back(entries_of(plan, i, own));
  }
  collect(std::move(found), outline_span != 0, result);
  return result;
}

ReadProtection read_protection(const ArtifactPlan& plan) {
  ReadProtection protection;
  for (const WalkedFile& file : plan.files) {
    if (const auto one = file.source->protection()) {
      protection.add(*one);
    }
  }
  return protection;
}

}  // namespace assay::gpu_hash
