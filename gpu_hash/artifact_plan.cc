// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/artifact_plan.h"

#include <utility>

namespace assay::gpu_hash {
namespace {

std::unexpected<Error> cancelled() {
  return fail(ErrorCode::kCancelled, "hashing was stopped on request");
}

// Appends the tensors of file `index`, or notes why there are none.
Status plan_tensors(ArtifactPlan& plan, std::size_t index) {
  auto parsed = read_safetensors(*plan.files[index].source);
  if (!parsed) {
    if (parsed.error().code != ErrorCode::kMalformedSafetensors) {
      return std::unexpected(std::move(parsed).error());
    }
    plan.malformed.push_back({index, std::move(parsed).error()});
    return {};
  }
  if (plan.objects.size() + parsed->tensors.size() > kMaxEntries) {
    return fail(ErrorCode::kLimitExceeded, "an artifact has at most 1048576 entries",
                plan.files[index].path);
  }
  for (Tensor& tensor : parsed->tensors) {
    plan.objects.push_back({index, std::move(tensor)});
  }
  return {};
}

Region region_of(const ArtifactPlan& plan, const PlannedObject& object) {
  const auto& source = plan.files[object.file].source;
  return object.tensor ? file_region(source, object.tensor->offset, object.tensor->size)
                       : file_region(source);
}

Entry entry_of(const ArtifactPlan& plan, const PlannedObject& object, Digest root) {
  const WalkedFile& file = plan.files[object.file];
  if (!object.tensor) {
    return FileEntry{file.path, file.source->size(), std::move(root)};
  }
  const Tensor& tensor = *object.tensor;
  return TensorEntry{tensor.name,   tensor.dtype, tensor.shape,   file.path,
                     tensor.offset, tensor.size,  std::move(root)};
}

// Artifact order: files by path, then tensors by (file, name). The plan has both in that order
// already, but mixed.
void collect(const ArtifactPlan& plan, std::vector<ObjectDigests> digests, bool outlines,
             PlannedArtifact& result) {
  for (const bool tensors : {false, true}) {
    for (std::size_t i = 0; i < plan.objects.size(); ++i) {
      if (plan.objects[i].tensor.has_value() != tensors) {
        continue;
      }
      result.artifact.entries.push_back(entry_of(plan, plan.objects[i], digests[i].root));
      if (outlines) {
        result.outlines.push_back(std::move(digests[i].outline));
      }
    }
  }
}

}  // namespace

Region file_region(std::shared_ptr<const SourceFile> file) {
  const std::uint64_t size = file->size();
  return file_region(std::move(file), 0, size);
}

Region file_region(std::shared_ptr<const SourceFile> file, std::uint64_t offset,
                   std::uint64_t size) {
  Region region;
  region.pieces.emplace_back(FilePiece{std::move(file), offset, size});
  return region;
}

Result<ArtifactPlan> plan_artifact(std::vector<WalkedFile> files, Objects objects,
                                   const std::stop_token& stop) {
  ArtifactPlan plan;
  plan.files = std::move(files);
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    if (objects != Objects::kTensors) {
      plan.objects.push_back({i, std::nullopt});
    }
    if (objects != Objects::kFiles && is_safetensors_path(plan.files[i].path)) {
      ASSAY_TRY(plan_tensors(plan, i));
    }
  }
  return plan;
}

Result<PlannedArtifact> hash_plan(const ArtifactPlan& plan, const TreeParameters& parameters,
                                  std::uint64_t outline_span, Engine& engine,
                                  const Progress& progress, const std::stop_token& stop) {
  PlannedArtifact result{{parameters, {}}, {}, 0};
  std::vector<Region> regions;
  regions.reserve(plan.objects.size());
  for (const PlannedObject& object : plan.objects) {
    regions.push_back(region_of(plan, object));
    ASSAY_ASSIGN(const std::uint64_t size, region_size(regions.back()));
    result.bytes += size;
  }
  HashRequest request{parameters, outline_span, {}, stop};
  if (progress) {
    request.progress = [&](std::uint64_t done) { progress(done, result.bytes); };
  }
  ASSAY_ASSIGN(std::vector<ObjectDigests> digests, engine.hash(regions, request));
  // A file that changed after its own bytes were read would leave the artifact as no moment saw it.
  for (const WalkedFile& file : plan.files) {
    ASSAY_TRY(file.source->check_unchanged());
  }
  collect(plan, std::move(digests), outline_span != 0, result);
  return result;
}

}  // namespace assay::gpu_hash
