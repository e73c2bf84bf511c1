// SPDX-License-Identifier: Apache-2.0
#include "worker/recipe/verified_entries.h"

#include <algorithm>

#include "schemas/core/merkle.h"

namespace assay::worker {

namespace {

constexpr std::uint64_t kWindowsAtOnce = 32;

std::unexpected<Error> mismatch(const TensorEntry& entry, const char* detail) {
  return fail(ErrorCode::kContentMismatch, detail, label_of(entry));
}

}  // namespace

VerifiedEntries::VerifiedEntries(const Artifact& artifact, EntryBytes& bytes,
                                 gpu_hash::Engine& engine, std::uint64_t budget,
                                 std::stop_token stop)
    : artifact_(artifact),
      bytes_(bytes),
      engine_(engine),
      budget_(std::max(budget, kEntryWindow)),
      stop_(std::move(stop)) {}

const TensorEntry& VerifiedEntries::at(std::uint64_t entry) const {
  return std::get<TensorEntry>(artifact_.entries.at(entry));
}

Result<ByteView> VerifiedEntries::window(std::uint64_t entry, std::uint64_t index) {
  if (!learned_.contains(entry)) {
    if (auto status = learn(entry); !status) {
      forget(entry);
      return std::unexpected(std::move(status).error());
    }
  }
  const auto found = index_.find({entry, index});
  if (found != index_.end()) {
    kept_.splice(kept_.begin(), kept_, found->second);
    return ByteView(kept_.front().bytes);
  }
  ASSAY_ASSIGN(Read again, read(entry, index, 1));
  if (again.digests.front() != learned_.at(entry).at(index)) {
    return mismatch(at(entry), "the bytes of the file changed while they were read");
  }
  keep({entry, index}, std::move(again.windows.front()));
  return ByteView(kept_.front().bytes);
}

Result<VerifiedEntries::Read> VerifiedEntries::read(std::uint64_t entry, std::uint64_t first,
                                                    std::uint64_t count) {
  Read result;
  std::vector<gpu_hash::Region> regions;
  const TensorEntry& tensor = at(entry);
  for (std::uint64_t i = first; i < first + count; ++i) {
    ASSAY_ASSIGN(Bytes window, bytes_.read(entry, i));
    if (window.size() != std::min(kEntryWindow, tensor.size - i * kEntryWindow)) {
      return mismatch(tensor, "the file has another size of this tensor");
    }
    result.windows.push_back(std::move(window));
    regions.push_back(gpu_hash::host_region(result.windows.back()));
  }
  ASSAY_ASSIGN(const std::vector<gpu_hash::ObjectDigests> digests,
               engine_.hash(regions, {artifact_.parameters, 0, {}, stop_}));
  for (const gpu_hash::ObjectDigests& digest : digests) {
    result.digests.push_back(digest.root);
  }
  return result;
}

Status VerifiedEntries::learn(std::uint64_t entry) {
  const std::uint64_t count = (at(entry).size + kEntryWindow - 1) / kEntryWindow;
  std::vector<Digest> digests;
  for (std::uint64_t first = 0; first < count; first += kWindowsAtOnce) {
    ASSAY_ASSIGN(Read some, read(entry, first, std::min(kWindowsAtOnce, count - first)));
    for (std::size_t i = 0; i < some.windows.size(); ++i) {
      keep({entry, first + i}, std::move(some.windows[i]));
      digests.push_back(some.digests[i]);
    }
  }
  // A window has a power of two of chunks, so its digest is a node of the tree of the entry.
  if (merkle_root(artifact_.parameters.hash, digests) != at(entry).root) {
    return mismatch(at(entry), "the bytes of the file are not those of the manifest");
  }
  learned_.emplace(entry, std::move(digests));
  return {};
}

void VerifiedEntries::keep(Key key, Bytes bytes) {
  used_ += bytes.size();
  kept_.push_front({key, std::move(bytes)});
  index_.emplace(key, kept_.begin());
  while (used_ > budget_) {
    used_ -= kept_.back().bytes.size();
    index_.erase(kept_.back().key);
    kept_.pop_back();
  }
}

void VerifiedEntries::forget(std::uint64_t entry) {
  std::erase_if(kept_, [&](const Kept& kept) {
    if (kept.key.first != entry) {
      return false;
    }
    used_ -= kept.bytes.size();
    index_.erase(kept.key);
    return true;
  });
}

}  // namespace assay::worker
