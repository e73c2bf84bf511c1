// SPDX-License-Identifier: Apache-2.0
#include "worker/record.h"

#include <map>
#include <utility>

#include "schemas/core/merkle.h"
#include "schemas/document_size.h"
#include "worker/instances/match.h"
#include "worker/instances/model.h"

namespace assay::worker {

namespace {

// The entries of one process, with a root that is not known yet.
Status add_entries(const InstanceRegistration& rank, std::vector<Entry>& entries) {
  if (rank.layout || rank.published) {
    return fail(ErrorCode::kConflict, "A reference process registers its tensors without a layout",
                rank_file(rank.rank));
  }
  const Digest unknown = merkle_leaf(HashAlgorithm::kSha256, {});
  std::map<std::string, const InstanceTensor*> by_name;
  for (const InstanceTensor& tensor : rank.tensors) {
    for (const std::string& name : tensor.names) {
      by_name.emplace(name, &tensor);
    }
  }
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : by_name) {
    const std::uint64_t size = size_of(*tensor);
    entries.emplace_back(TensorEntry{name, tensor->dtype, tensor->shape, rank_file(rank.rank),
                                     offset, size, unknown});
    offset += size;
    if (entries.size() > kMaxManifestEntries) {
      return fail(ErrorCode::kLimitExceeded, "The processes hold more tensors than a manifest has");
    }
  }
  return {};
}

}  // namespace

Result<Manifest> record_tensors(std::vector<std::shared_ptr<Owner>> owners,
                                const ArtifactId& source, const std::string& name, Checks& checks,
                                const std::stop_token& stop) {
  Manifest manifest;
  manifest.name = name;
  std::vector<const InstanceRegistration*> ranks;
  for (const std::shared_ptr<Owner>& owner : owners) {
    ranks.push_back(&owner->registration());
    ASSAY_TRY(add_entries(owner->registration(), manifest.artifact.entries));
  }
  ASSAY_TRY(check_ranks(source, ranks));
  InstanceModel model(std::move(owners), source, manifest, checks, &Steady::now, nullptr, true);
  ASSAY_ASSIGN(InstanceModel::Hashed hashed, model.hash(1, stop, false));
  if (!hashed.not_covered.empty()) {
    const NotCovered& first = hashed.not_covered.front();
    return fail(ErrorCode::kFileUnreadable, "A tensor could not be hashed: " + first.reason,
                label_of(manifest.artifact.entries.at(first.entry)));
  }
  if (!model.findings().empty() || hashed.entries.size() != manifest.artifact.entries.size()) {
    return fail(ErrorCode::kConflict, "The registered tensors are not all there");
  }
  manifest.artifact.entries = std::move(hashed.entries);
  model.tell(InstanceState::kUnknown, {});
  return manifest;
}

}  // namespace assay::worker
