// SPDX-License-Identifier: Apache-2.0
// Hashes what the plan lists and makes an artifact of it.
#include "gpu_hash/artifact_hash.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "gpu_hash/cut_file.h"
#include "gpu_hash/model/missing_files.h"
#include "gpu_hash/model/pickles.h"
#include "gpu_hash/model/plan.h"

namespace assay::gpu_hash {
namespace {

Status check_whole(const std::vector<Lack>& lacks) {
  if (lacks.empty()) {
    return {};
  }
  const std::string others =
      lacks.size() > 1 ? " (and " + std::to_string(lacks.size() - 1) + " more such files)" : "";
  return fail(ErrorCode::kIncompleteModel, lacks.front().detail + others, lacks.front().file);
}

Status check_whole_files(const std::vector<std::string>& whole,
                         const std::vector<WalkedFile>& files) {
  for (const std::string& path : whole) {
    if (std::ranges::find(files, path, &WalkedFile::path) == files.end()) {
      return fail(ErrorCode::kInvalidParameter, "the model has no such file to hash whole", path);
    }
  }
  return {};
}

Status check_plan(const ArtifactPlan& plan, const ArtifactOptions& options) {
  if (!plan.malformed.empty()) {
    return std::unexpected(plan.malformed.front().error);
  }
  const std::size_t entries = entry_count(plan);
  if (entries > options.max_entries) {
    return fail(ErrorCode::kLimitExceeded, std::to_string(entries) +
                                               " files and tensors are more than " +
                                               std::to_string(options.max_entries));
  }
  if (entries == 0) {
    return fail(ErrorCode::kInvalidParameter, options.objects == Objects::kTensors
                                                  ? "there is no tensor to hash"
                                                  : "there is no file to hash");
  }
  return {};
}

}  // namespace

Result<HashedArtifact> hash_artifact(const std::filesystem::path& path,
                                     const ArtifactOptions& options, Engine& engine,
                                     const Progress& progress, const std::stop_token& stop) {
  const auto start = std::chrono::steady_clock::now();
  ASSAY_TRY(check(HashRequest{options.parameters, options.outline_span, {}, {}}));
  ASSAY_ASSIGN(std::vector<WalkedFile> files, walk(path, rules_of(options.parameters)));
  std::vector<Lack> lacks = find_lacks(files);
  ASSAY_TRY(options.refuse_lacks ? check_whole(lacks) : Status());
  ASSAY_TRY(check_whole_files(options.whole, files));
  std::vector<std::string> pickles = find_pickles(files);
  ASSAY_ASSIGN(const ArtifactPlan plan,
               plan_artifact(std::move(files), cut_by_name(options.whole), options.objects, stop));
  ASSAY_TRY(check_plan(plan, options));
  ASSAY_ASSIGN(KnownFiles known,
               find_known(plan, options.parameters, options.outline_span, options.reuse));
  ASSAY_ASSIGN(PlannedArtifact hashed, hash_plan(plan, options.parameters, options.outline_span,
                                                 engine, progress, stop, std::move(known.entries)));
  ASSAY_ASSIGN(ArtifactId id, artifact_id(hashed.artifact));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return HashedArtifact{std::move(hashed.artifact),
                        std::move(id),
                        std::move(hashed.outlines),
                        hashed.bytes,
                        elapsed.count(),
                        engine.info(),
                        known_files(plan),
                        known.files,
                        known.bytes,
                        std::move(lacks),
                        std::move(pickles),
                        read_protection(plan)};
}

}  // namespace assay::gpu_hash
