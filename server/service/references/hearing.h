// SPDX-License-Identifier: Apache-2.0
// Reads the statements that say what a name or a place stands for. Internal to this room.
#pragma once

#include <map>
#include <set>

#include "server/service/references/publishers.h"
#include "server/service/references/resolve.h"

namespace assay::server {

inline constexpr std::string_view kReferenceCondition = "model-reference";

// A trusted statement that says what a name or a place stands for.
struct Heard {
  storage::StatementRow row;
  Word word;
};

// Whose statements are read: those of publishers whom an asked policy may believe, or those of
// everyone whose signature may count.
enum class Ears : bool { kBelieved, kTrusted };

// What one resolution depends on, and what it has read so far: each row once.
struct Asking {
  Services& services;
  storage::Snapshot& snapshot;
  Timestamp now;
  Publishers publishers{};
  std::map<LeafIndex, Heard> heard{};
  std::map<KeyId, std::set<Ears>> keys{};  // whether they are worth reading for
  std::optional<Timestamp> deadline{};
};

// Returns false when a signature of the key `id` cannot matter to `ears`.
[[nodiscard]] Result<bool> is_worth_reading(Asking& asking, const KeyId& id, Ears ears);

// Reads and judges the statement at `index`, at most once. Errors: limit-exceeded beyond
// kMaxManifestsHeard; evaluation-deadline.
[[nodiscard]] Result<const Heard*> hear(Asking& asking, LeafIndex index);

// Returns the failed precondition of a reference.
[[nodiscard]] ConditionResult refused(Reason code, Json expected, Json actual);

}  // namespace assay::server
