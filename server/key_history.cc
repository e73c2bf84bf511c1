// SPDX-License-Identifier: Apache-2.0
// The chain of keys, from the records of the log that hand them over.
#include "server/key_history.h"

#include <algorithm>

#include "schemas/core/merkle.h"

namespace assay::server {
namespace {

using attestation::KeyRotation;
using attestation::RotatedKind;

// One kind of key has been rotated so often at most; whoever is there needs a new installation.
constexpr std::size_t kMaxRotations = 1000;

Result<std::vector<LeafIndex>> indexes(storage::Snapshot& snapshot, std::string_view type) {
  storage::EventQuery query;
  query.type = type;
  std::vector<LeafIndex> found;
  do {
    ASSAY_ASSIGN(const auto page, snapshot.events(query));
    for (const storage::EventRow& row : page.items) {
      found.push_back(row.index);
    }
    query.bounds.after = page.next;
  } while (query.bounds.after && found.size() <= kMaxRotations);
  return found;
}

// A record that is proven to be in the log.
Result<LogRecord> proven_record(storage::Snapshot& snapshot, const storage::LogState& log,
                                LeafIndex index) {
  ASSAY_ASSIGN(const Bytes bytes, snapshot.log_record(index));
  ASSAY_ASSIGN(const auto path, snapshot.inclusion_proof(index, log.size));
  ASSAY_TRY(verify_inclusion(merkle_leaf(HashAlgorithm::kSha256, bytes), index, log.size, path,
                             log.root));
  return parse_log_record(bytes);
}

// What the log was called at an entry: a database that had lost records goes on under another name.
struct Renamed {
  LeafIndex index;
  std::string before;
};

Result<std::vector<Renamed>> read_names(storage::Snapshot& snapshot, const storage::LogState& log) {
  ASSAY_ASSIGN(const std::vector<LeafIndex> found, indexes(snapshot, event::kLogReopened));
  std::vector<Renamed> names;
  for (const LeafIndex index : found) {
    ASSAY_ASSIGN(const LogRecord record, proven_record(snapshot, log, index));
    if (record.type != event::kLogReopened || !record.detail.contains("previous_origin") ||
        !record.detail.at("previous_origin").is_string()) {
      return fail(ErrorCode::kDataLoss,
                  "log record " + std::to_string(index) + " is not what its row says");
    }
    names.push_back({index, record.detail.at("previous_origin").get<std::string>()});
  }
  return names;
}

const std::string& name_at(const std::vector<Renamed>& names, LeafIndex index,
                           const std::string& now) {
  const auto later =
      std::ranges::find_if(names, [&](const Renamed& renamed) { return renamed.index > index; });
  return later == names.end() ? now : later->before;
}

Result<RotatedKey> read_one(storage::Snapshot& snapshot, const storage::LogState& log,
                            const std::string& origin, LeafIndex index) {
  ASSAY_ASSIGN(const LogRecord record, proven_record(snapshot, log, index));
  ASSAY_ASSIGN(KeyRotation rotation, attestation::rotation_from(record));
  ASSAY_TRY(attestation::verify_rotation(rotation, origin, index));
  return RotatedKey{std::move(rotation), index, record.time};
}

}  // namespace

const RotatedKey* newest_of(const std::vector<RotatedKey>& rotations, RotatedKind kind) {
  const auto found = std::ranges::find_if(rotations.rbegin(), rotations.rend(),
                                          [&](const auto& r) { return r.rotation.kind == kind; });
  return found == rotations.rend() ? nullptr : &*found;
}

Result<std::vector<RotatedKey>> read_rotations(storage::Snapshot& snapshot,
                                               const std::string& origin) {
  ASSAY_ASSIGN(const storage::LogState log, snapshot.log_state());
  ASSAY_ASSIGN(const std::vector<LeafIndex> found, indexes(snapshot, event::kKeyRotated));
  ASSAY_ASSIGN(const std::vector<Renamed> names, read_names(snapshot, log));
  if (found.size() > kMaxRotations) {
    return fail(ErrorCode::kLimitExceeded, "keys were rotated too often");
  }
  std::vector<RotatedKey> rotations;
  for (const LeafIndex index : found) {
    ASSAY_ASSIGN(RotatedKey next, read_one(snapshot, log, name_at(names, index, origin), index));
    const RotatedKey* before = newest_of(rotations, next.rotation.kind);
    if (before != nullptr && before->rotation.new_key != next.rotation.old_key) {
      return fail(ErrorCode::kLogInconsistent,
                  "log record " + std::to_string(index) + " replaces a key that was not in use");
    }
    rotations.push_back(std::move(next));
  }
  return rotations;
}

Status check_current(const std::vector<RotatedKey>& rotations, RotatedKind kind,
                     const Signer* current) {
  const RotatedKey* newest = newest_of(rotations, kind);
  if (newest == nullptr ||
      (current != nullptr && current->public_key() == newest->rotation.new_key)) {
    return {};
  }
  return fail(ErrorCode::kInvalidConfig,
              "the " + std::string(attestation::name(kind)) + " key was rotated (log record " +
                  std::to_string(newest->index) + "), and the configured one is not its heir");
}

}  // namespace assay::server
