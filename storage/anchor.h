// SPDX-License-Identifier: Apache-2.0
// The anchor file: the newest checkpoint that was acknowledged, the epochs, and the head of the
// chain of trust and policy, kept outside the database. A database that is behind it comes from an
// old copy or has lost writes; a service that opened it would sign other roots for sizes that it
// had signed, and trust revoked keys again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schemas/checkpoint.h"
#include "schemas/posix/descriptor.h"
#include "storage/store.h"

namespace assay::storage {

// Two slots of 4096 bytes that are written in turn, each with one flush, so that the newer of them
// may be torn and the other one still stands. Not for several threads.
class Anchor {
 public:
  static constexpr std::size_t kSlotBytes = 4096;

  explicit Anchor(std::string path) : path_(std::move(path)) {}
  Anchor(const Anchor&) = delete;
  Anchor& operator=(const Anchor&) = delete;
  ~Anchor() = default;

  struct State {
    std::string note;
    Checkpoint checkpoint;  // what the note says
    Epochs epochs;
    std::optional<ChainHead> head;  // absent while nothing is governed
  };
  // The newer slot that is whole. not-found when the file does not exist; data-loss when neither
  // slot is what save() wrote. The note's signature is the caller's to check.
  [[nodiscard]] Result<State> load() const;
  // Durable when it returns. Makes the file when there is none. storage when it cannot be written:
  // the state before still stands.
  [[nodiscard]] Status save(const std::string& note, const Epochs& epochs,
                            const std::optional<ChainHead>& head = {});
  // Puts a new file in the place of whatever is there, in one step.
  [[nodiscard]] Status replace(const std::string& note, const Epochs& epochs,
                               const std::optional<ChainHead>& head);

 private:
  [[nodiscard]] Status open(const std::string& note, const Epochs& epochs,
                            const std::optional<ChainHead>& head);
  [[nodiscard]] bool is_still_at_its_path() const;

  std::string path_;
  Descriptor file_;
  std::uint64_t sequence_ = 0;  // of the newest slot
};

}  // namespace assay::storage
