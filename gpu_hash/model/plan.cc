// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/model/plan.h"

#include <string_view>
#include <utility>

#include "gpu_hash/gguf.h"

namespace assay::gpu_hash {
namespace {

std::unexpected<Error> cancelled() {
  return fail(ErrorCode::kCancelled, "hashing was stopped on request");
}

bool has_tensors(std::string_view path) { return is_safetensors_path(path) || is_gguf_path(path); }

Result<std::vector<Tensor>> tensors_of(const WalkedFile& file) {
  if (is_gguf_path(file.path)) {
    ASSAY_ASSIGN(Gguf parsed, read_gguf(*file.source));
    return std::move(parsed.tensors);
  }
  ASSAY_ASSIGN(Safetensors parsed, read_safetensors(*file.source));
  return std::move(parsed.tensors);
}

// Appends the tensors of file `index`, or notes why there are none.
Status plan_tensors(ArtifactPlan& plan, std::size_t index) {
  auto tensors = tensors_of(plan.files[index]);
  if (!tensors) {
    const ErrorCode code = tensors.error().code;
    if (code != ErrorCode::kMalformedSafetensors && code != ErrorCode::kMalformedGguf) {
      return std::unexpected(std::move(tensors).error());
    }
    plan.malformed.push_back({index, std::move(tensors).error()});
    return {};
  }
  if (plan.objects.size() + tensors->size() > kMaxEntries) {
    return fail(ErrorCode::kLimitExceeded, "an artifact has at most 1048576 entries",
                plan.files[index].path);
  }
  for (Tensor& tensor : *tensors) {
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

// File and tensor; a file's own entry has no tensor.
using ObjectName = std::pair<std::string, std::optional<std::string>>;

ObjectName name_of(const ArtifactPlan& plan, const PlannedObject& object) {
  return {plan.files[object.file].path,
          object.tensor ? std::optional(object.tensor->name) : std::nullopt};
}

// Numbers of the entries.
std::map<ObjectName, std::size_t> by_name(const Artifact& artifact) {
  std::map<ObjectName, std::size_t> entries;
  for (std::size_t i = 0; i < artifact.entries.size(); ++i) {
    if (const auto* file = std::get_if<FileEntry>(&artifact.entries[i])) {
      entries.emplace(ObjectName{file->path, std::nullopt}, i);
    } else {
      const auto& tensor = std::get<TensorEntry>(artifact.entries[i]);
      entries.emplace(ObjectName{tensor.file, tensor.name}, i);
    }
  }
  return entries;
}

KnownFile known_file(const WalkedFile& file) {
  return {file.source->size(), file.source->identity().mtime_ns};
}

// The coarsest step of modification times that is in use (FAT): a change so soon after the last one
// may not show.
constexpr std::int64_t kTimeStep = 2'000'000'000;  // ns

bool unchanged(const WalkedFile& file, const Reuse& reuse) {
  const auto found = reuse.files.find(file.path);
  return found != reuse.files.end() && found->second == known_file(file) &&
         found->second.mtime_ns < reuse.hashed_at_ns - kTimeStep;
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
    if (objects != Objects::kFiles && has_tensors(plan.files[i].path)) {
      ASSAY_TRY(plan_tensors(plan, i));
    }
  }
  return plan;
}

std::vector<bool> files_read_once(const ArtifactPlan& plan, const KnownDigests& known,
                                  std::uint64_t room) {
  std::vector<std::uint64_t> tensors(plan.files.size(), 0);  // bytes
  std::vector<bool> whole(plan.files.size(), false);
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    const PlannedObject& object = plan.objects[i];
    if (!known.empty() && known[i]) {
      continue;
    }
    if (object.tensor) {
      tensors[object.file] += object.tensor->size;
    } else {
      whole[object.file] = true;
    }
  }
  std::uint64_t total = 0;
  std::vector<bool> once(plan.files.size(), false);
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const std::uint64_t size = whole[i] ? plan.files[i].source->size() : tensors[i];
    total += size;
    once[i] = !whole[i] || tensors[i] == 0 || size > room;
  }
  return total > room ? once : std::vector<bool>(plan.files.size(), false);
}

Result<PlannedArtifact> hash_plan(const ArtifactPlan& plan, const TreeParameters& parameters,
                                  std::uint64_t outline_span, Engine& engine,
                                  const Progress& progress, const std::stop_token& stop,
                                  const KnownDigests& known) {
  PlannedArtifact result{{parameters, {}}, {}, 0};
  std::vector<Region> regions;
  regions.reserve(plan.objects.size());
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    if (known.empty() || !known[i]) {
      regions.push_back(region_of(plan, plan.objects[i]));
      ASSAY_ASSIGN(const std::uint64_t size, region_size(regions.back()));
      result.bytes += size;
    }
  }
  const std::vector<bool> once = files_read_once(plan, known, page_cache_room());
  for (std::size_t i = 0; i < once.size(); ++i) {
    if (once[i]) {
      plan.files[i].source->read_once();
    }
  }
  HashRequest request{parameters, outline_span, {}, stop};
  if (progress) {
    request.progress = [&](std::uint64_t done) { progress(done, result.bytes); };
  }
  ASSAY_ASSIGN(std::vector<ObjectDigests> hashed, engine.hash(regions, request));
  // A file that changed after its own bytes were read would leave the artifact as no moment saw it.
  for (const WalkedFile& file : plan.files) {
    ASSAY_TRY(file.source->check_unchanged());
  }
  std::vector<ObjectDigests> digests;
  digests.reserve(plan.objects.size());
  for (std::size_t i = 0, next = 0; i < plan.objects.size(); ++i) {
    if (!known.empty() && known[i]) {
      digests.push_back(*known[i]);
    } else {
      digests.push_back(std::move(hashed[next++]));
    }
  }
  collect(plan, std::move(digests), outline_span != 0, result);
  return result;
}

Result<KnownObjects> find_known(const ArtifactPlan& plan, const TreeParameters& parameters,
                                std::uint64_t outline_span, const Reuse* reuse) {
  const bool outlines = outline_span != 0;
  // Which files are left out changes no digest of those that are there.
  if (reuse == nullptr || reuse->artifact.parameters.hash != parameters.hash ||
      reuse->artifact.parameters.chunk_size != parameters.chunk_size ||
      (outlines && (!reuse->outline || reuse->outline->span != outline_span))) {
    return KnownObjects{};
  }
  if (outlines) {
    ASSAY_TRY(check(*reuse->outline, reuse->artifact));
  }
  KnownObjects known;
  known.digests.resize(plan.objects.size());
  const std::map<ObjectName, std::size_t> entries = by_name(reuse->artifact);
  std::vector<bool> whole(plan.files.size(), true);  // nothing of the file needs to be read
  for (std::size_t i = 0; i < plan.objects.size(); ++i) {
    const PlannedObject& object = plan.objects[i];
    const auto found = entries.find(name_of(plan, object));
    if (found == entries.end() || !unchanged(plan.files[object.file], *reuse)) {
      whole[object.file] = false;
      continue;
    }
    const Entry& entry = reuse->artifact.entries[found->second];
    const Digest root = std::visit([](const auto& one) { return one.root; }, entry);
    if (entry_of(plan, object, root) != entry) {
      whole[object.file] = false;
      continue;
    }
    known.digests[i] = ObjectDigests{root, {}};
    if (outlines) {
      known.digests[i]->outline = reuse->outline->entries[found->second];
    }
    known.bytes += std::visit([](const auto& one) { return one.size; }, entry);
  }
  // A file without objects of its own, such as one that is no safetensors file when only tensors
  // count, is neither hashed nor reused.
  std::vector<bool> used(plan.files.size(), false);
  for (const PlannedObject& object : plan.objects) {
    used[object.file] = true;
  }
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    if (used[i] && whole[i]) {
      known.files.push_back(plan.files[i].path);
    }
  }
  return known;
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

std::map<std::string, KnownFile> known_files(const ArtifactPlan& plan) {
  std::map<std::string, KnownFile> files;
  for (const WalkedFile& file : plan.files) {
    files.emplace(file.path, known_file(file));
  }
  return files;
}

}  // namespace assay::gpu_hash
