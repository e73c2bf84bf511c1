// SPDX-License-Identifier: Apache-2.0
// Takes the entries of unchanged files from an earlier artifact.
#include <map>
#include <utility>

#include "gpu_hash/model/plan.h"

namespace assay::gpu_hash {
namespace {

// File and tensor; a file's own entry has no tensor.
using EntryName = std::pair<std::string, std::optional<std::string>>;
using Numbers = std::map<EntryName, std::size_t>;

Numbers by_name(const Artifact& artifact) {
  Numbers numbers;
  for (std::size_t i = 0; i < artifact.entries.size(); ++i) {
    const auto* tensor = std::get_if<TensorEntry>(&artifact.entries[i]);
    numbers.emplace(EntryName{file_of(artifact.entries[i]),
                              tensor != nullptr ? std::optional(tensor->name) : std::nullopt},
                    i);
  }
  return numbers;
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
         reuse.hashed_at_ns > kTimeStep && found->second.mtime_ns < reuse.hashed_at_ns - kTimeStep;
}

// The same format and size of the header. That its bytes are those of before, the file's time says,
// as for the rest of the file.
bool fits(const FileEntry& entry, const ArtifactPlan& plan, std::size_t index) {
  const PlannedFile& planned = plan.planned[index];
  const bool same_cut = entry.cut ? planned.cut == entry.cut->format &&
                                        plan.objects[planned.first].segment.size == entry.cut->size
                                  : !planned.cut;
  return same_cut && entry.size == plan.files[index].source->size();
}

bool fits(const TensorEntry& entry, const Tensor& tensor) {
  return tensor == Tensor{entry.name, entry.dtype, entry.shape, entry.offset, entry.size};
}

// Collects the entries of one file.
class Taker {
 public:
  Taker(const Reuse& reuse, const Numbers& numbers, bool outlines)
      : reuse_(reuse), numbers_(numbers), outlines_(outlines) {}

  // The entry of this name when `fits` accepts it.
  template <typename T, typename Fits>
  [[nodiscard]] bool take(const EntryName& name, const Fits& fits) {
    const auto found = numbers_.find(name);
    const T* entry =
        found == numbers_.end() ? nullptr : std::get_if<T>(&reuse_.artifact.entries[found->second]);
    if (entry == nullptr || !fits(*entry)) {
      return false;
    }
    entries_.push_back(
        {*entry, outlines_ ? reuse_.outline->entries[found->second] : std::vector<Digest>()});
    return true;
  }

  [[nodiscard]] EntriesOfFile entries() && { return std::move(entries_); }

 private:
  const Reuse& reuse_;
  const Numbers& numbers_;
  bool outlines_;
  EntriesOfFile entries_;
};

// Nothing unless all entries of the file are known.
std::optional<EntriesOfFile> known_entries(const ArtifactPlan& plan, std::size_t index,
                                           Taker taker) {
  const std::string& path = plan.files[index].path;
  if (plan.objects_listed != Objects::kTensors &&
      !taker.take<FileEntry>({path, std::nullopt},
                             [&](const FileEntry& entry) { return fits(entry, plan, index); })) {
    return std::nullopt;
  }
  std::map<std::string_view, const Tensor*> tensors;  // by name, the order of entries
  for (std::size_t i = plan.planned[index].first; i < plan.planned[index].end; ++i) {
    if (plan.objects_listed != Objects::kFiles && plan.objects[i].tensor) {
      tensors.emplace(plan.objects[i].tensor->name, &*plan.objects[i].tensor);
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (!taker.take<TensorEntry>({path, tensor->name},
                                 [&](const TensorEntry& entry) { return fits(entry, *tensor); })) {
      return std::nullopt;
    }
  }
  return std::move(taker).entries();
}

}  // namespace

Result<KnownFiles> find_known(const ArtifactPlan& plan, const TreeParameters& parameters,
                              std::uint64_t outline_span, const Reuse* reuse) {
  const bool outlines = outline_span != 0;
  // Which files are left out changes no digest of those that are there.
  if (reuse == nullptr || reuse->artifact.parameters.hash != parameters.hash ||
      reuse->artifact.parameters.chunk_size != parameters.chunk_size ||
      (outlines && (!reuse->outline || reuse->outline->span != outline_span))) {
    return KnownFiles{};
  }
  if (outlines) {
    ASSAY_TRY(check(*reuse->outline, reuse->artifact));
  }
  KnownFiles known;
  known.entries.resize(plan.files.size());
  const Numbers numbers = by_name(reuse->artifact);
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    const PlannedFile& planned = plan.planned[i];
    // A file without objects, such as one that has no tensors when only tensors count, is neither
    // hashed nor reused.
    if (planned.first == planned.end || !unchanged(plan.files[i], *reuse)) {
      continue;
    }
    known.entries[i] = known_entries(plan, i, Taker(*reuse, numbers, outlines));
    if (!known.entries[i]) {
      continue;
    }
    known.files.push_back(plan.files[i].path);
    for (std::size_t object = planned.first; object < planned.end; ++object) {
      known.bytes += plan.objects[object].segment.size;
    }
  }
  return known;
}

std::map<std::string, KnownFile> known_files(const ArtifactPlan& plan) {
  std::map<std::string, KnownFile> files;
  for (const WalkedFile& file : plan.files) {
    files.emplace(file.path, known_file(file));
  }
  return files;
}

}  // namespace assay::gpu_hash
