// SPDX-License-Identifier: Apache-2.0
// The anchor file, kept outside the database. It holds the newest acknowledged checkpoint, the
// epochs (counters of changes of trust and policy), the newest record of the chain of these
// changes in the log (storage/governance.h), and the root of the record map (storage/record_map.h).
// A database that is behind the anchor comes from an old copy or has lost writes. A service that
// opened such a database would sign different roots for sizes that it had already signed, and would
// trust revoked keys again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schemas/checkpoint.h"
#include "schemas/posix/descriptor.h"
#include "storage/record_map.h"
#include "storage/store.h"

namespace assay::storage {

// The anchor file, which has two slots of 4096 bytes each. The slots are written in turn, each with
// one flush. A torn write damages only the slot being written; the other slot stays valid. Not
// thread-safe.
class Anchor {
 public:
  static constexpr std::size_t kSlotBytes = 4096;

  explicit Anchor(std::string path) : path_(std::move(path)) {}
  Anchor(const Anchor&) = delete;
  Anchor& operator=(const Anchor&) = delete;
  ~Anchor() = default;

  struct State {
    std::string note;       // the signed checkpoint (C2SP signed note)
    Checkpoint checkpoint;  // parsed from the note
    Epochs epochs;
    std::optional<ChainHead> head;  // absent while the log has no record of the chain
    MapState map;
  };
  // Reads the newer of the intact slots. The caller must verify the note's signature. Errors:
  // not-found when the file does not exist; data-loss when neither slot is intact.
  [[nodiscard]] Result<State> load() const;
  // Writes the slot whose turn it is. The slot is durable when save() returns. Creates the file
  // when there is none. Errors: storage when the file cannot be written; the previous state then
  // stays valid.
  [[nodiscard]] Status save(const std::string& note, const Epochs& epochs,
                            const std::optional<ChainHead>& head = {}, const MapState& map = {});
  // Replaces the whole file, whatever its content, in one atomic step.
  [[nodiscard]] Status replace(const std::string& note, const Epochs& epochs,
                               const std::optional<ChainHead>& head, const MapState& map);

 private:
  [[nodiscard]] Status open(const std::string& note, const Epochs& epochs,
                            const std::optional<ChainHead>& head, const MapState& map);
  [[nodiscard]] bool is_still_at_its_path() const;

  std::string path_;
  Descriptor file_;
  std::uint64_t sequence_ = 0;  // of the newest slot
};

}  // namespace assay::storage
