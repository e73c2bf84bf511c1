// SPDX-License-Identifier: Apache-2.0
// Hashes what the plan lists and makes an artifact of it.
#include "gpu_hash/artifact_hash.h"

#include <chrono>
#include <utility>

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

}  // namespace

Result<HashedArtifact> hash_artifact(const std::filesystem::path& path,
                                     const ArtifactOptions& options, Engine& engine,
                                     const Progress& progress, const std::stop_token& stop) {
  const auto start = std::chrono::steady_clock::now();
  ASSAY_TRY(check(HashRequest{options.parameters, options.outline_span, {}, {}}));
  ASSAY_ASSIGN(std::vector<WalkedFile> files, walk(path, rules_of(options.parameters)));
  std::vector<Lack> lacks = find_lacks(files);
  ASSAY_TRY(options.refuse_lacks ? check_whole(lacks) : Status());
  std::vector<std::string> pickles = find_pickles(files);
  ASSAY_ASSIGN(const ArtifactPlan plan, plan_artifact(std::move(files), options.objects, stop));
  if (!plan.malformed.empty()) {
    return std::unexpected(plan.malformed.front().error);
  }
  if (plan.objects.size() > options.max_entries) {
    return fail(ErrorCode::kLimitExceeded, std::to_string(plan.objects.size()) +
                                               " files and tensors are more than " +
                                               std::to_string(options.max_entries));
  }
  if (plan.objects.empty()) {
    return fail(ErrorCode::kInvalidParameter, options.objects == Objects::kTensors
                                                  ? "there is no tensor to hash"
                                                  : "there is no file to hash");
  }
  ASSAY_ASSIGN(const KnownObjects known,
               find_known(plan, options.parameters, options.outline_span, options.reuse));
  ASSAY_ASSIGN(PlannedArtifact hashed, hash_plan(plan, options.parameters, options.outline_span,
                                                 engine, progress, stop, known.digests));
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
