// SPDX-License-Identifier: Apache-2.0
// Bytes of the tensor entries of a model on this node, each verified against the manifest before
// anybody sees it. Host memory is bounded, whatever the sizes of the entries.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/artifact.h"

namespace assay::worker {

// A window is a run of so many bytes of an entry, or what is left at its end. Windows begin at
// multiples of their size, which is at least that of a chunk.
inline constexpr std::uint64_t kEntryWindow = std::uint64_t{1} << 20;

// Where the bytes of entries come from. The bytes may be any.
class EntryBytes {
 public:
  virtual ~EntryBytes() = default;
  // Reads window `index` of the entry at a position of the artifact. Errors: those of reading a
  // file.
  [[nodiscard]] virtual Result<Bytes> read(std::uint64_t entry, std::uint64_t index) = 0;
};

// Keeps windows of entries. The digests of all windows of an entry lead to the root that the
// manifest has. When a window is read again, its digest must be the same.
class VerifiedEntries {
 public:
  // Keeps at most `budget` bytes of windows. All references must outlive this object.
  VerifiedEntries(const Artifact& artifact, EntryBytes& bytes, gpu_hash::Engine& engine,
                  std::uint64_t budget, std::stop_token stop);

  // Returns the bytes of window `index` of the entry at a position of the artifact; they are valid
  // until the next call. Errors: content-mismatch, with the label of the entry, when the bytes are
  // not those of the manifest; those of EntryBytes::read() and of the engine.
  [[nodiscard]] Result<ByteView> window(std::uint64_t entry, std::uint64_t index);

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // entry, window
  struct Kept {
    Key key;
    Bytes bytes;
  };

  [[nodiscard]] const TensorEntry& at(std::uint64_t entry) const;
  // Reads windows from `first` on, of one entry, and returns them with their digests.
  struct Read {
    std::vector<Bytes> windows;
    std::vector<Digest> digests;
  };
  [[nodiscard]] Result<Read> read(std::uint64_t entry, std::uint64_t first, std::uint64_t count);
  // Reads a whole entry and compares it with its root.
  [[nodiscard]] Status learn(std::uint64_t entry);
  void keep(Key key, Bytes bytes);
  void forget(std::uint64_t entry);

  const Artifact& artifact_;
  EntryBytes& bytes_;
  gpu_hash::Engine& engine_;
  std::uint64_t budget_;
  std::stop_token stop_;
  std::map<std::uint64_t, std::vector<Digest>> learned_;  // digests of windows, by entry
  std::list<Kept> kept_;                                  // the last used one first
  std::map<Key, std::list<Kept>::iterator> index_;
  std::uint64_t used_ = 0;  // bytes of kept_
};

}  // namespace assay::worker
