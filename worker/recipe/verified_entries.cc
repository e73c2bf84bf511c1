// SPDX-License-Identifier: Apache-2.0
#include "worker/recipe/verified_entries.h"

#include <algorithm>

#include "schemas/core/merkle.h"

namespace assay::worker {

const TensorEntry& VerifiedEntries::at(std::uint64_t entry) const {
  return std::get<TensorEntry>(artifact_.entries.at(entry));
}

Status VerifiedEntries::note(std::uint64_t entry, std::uint64_t index, const Digest& digest) {
  const TensorEntry& tensor = at(entry);
  const std::uint64_t count = (tensor.size + kEntryWindow - 1) / kEntryWindow;
  Known& known = known_.try_emplace(entry, Known{{}, count}).first->second;
  known.windows.resize(count);
  std::optional<Digest>& place = known.windows.at(index);
  if (place) {
    return *place == digest
               ? Status()
               : fail(ErrorCode::kContentMismatch,
                      "the bytes of the file changed while they were read", label_of(tensor));
  }
  place = digest;
  if (--known.missing > 0) {
    return {};
  }
  std::vector<Digest> digests;
  std::ranges::transform(known.windows, std::back_inserter(digests),
                         [](const std::optional<Digest>& one) { return *one; });
  // A window has a power of two of chunks, so its digest is a node of the tree of the entry.
  return merkle_root(artifact_.parameters.hash, digests) == tensor.root
             ? Status()
             : fail(ErrorCode::kContentMismatch,
                    "the bytes of the file are not those of the manifest", label_of(tensor));
}

std::map<std::uint64_t, std::vector<std::uint64_t>> VerifiedEntries::missing() const {
  std::map<std::uint64_t, std::vector<std::uint64_t>> all;
  for (const auto& [entry, known] : known_) {
    for (std::uint64_t i = 0; known.missing > 0 && i < known.windows.size(); ++i) {
      if (!known.windows[i]) {
        all[entry].push_back(i);
      }
    }
  }
  return all;
}

}  // namespace assay::worker
