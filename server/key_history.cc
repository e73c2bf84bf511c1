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

std::string text_of(const LogRecord& record, const char* name) {
  const auto found = record.detail.find(name);
  return found != record.detail.end() && found->is_string() ? found->get<std::string>()
                                                            : std::string();
}

const NamedKey* named_of(const std::vector<NamedKey>& named, RotatedKind kind) {
  const auto found = std::ranges::find(named, kind, &NamedKey::kind);
  return found == named.end() ? nullptr : &*found;
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

Result<std::vector<NamedKey>> read_named_keys(storage::Snapshot& snapshot) {
  ASSAY_ASSIGN(const storage::LogState log, snapshot.log_state());
  ASSAY_ASSIGN(const std::vector<LeafIndex> found, indexes(snapshot, event::kKeyNamed));
  std::vector<NamedKey> named;
  for (const LeafIndex index : found) {
    ASSAY_ASSIGN(const LogRecord record, proven_record(snapshot, log, index));
    ASSAY_ASSIGN(const RotatedKind kind, attestation::rotated_kind_from(text_of(record, "kind")));
    ASSAY_ASSIGN(Bytes key, base64_decode(text_of(record, "key")));
    if (record.type != event::kKeyNamed || named_of(named, kind) != nullptr) {
      return fail(ErrorCode::kLogInconsistent,
                  "log record " + std::to_string(index) + " names a key that was named before");
    }
    named.push_back({kind, std::move(key), index});
  }
  return named;
}

Result<KeyHistory> read_key_history(storage::Snapshot& snapshot, const std::string& origin) {
  ASSAY_ASSIGN(auto rotations, read_rotations(snapshot, origin));
  ASSAY_ASSIGN(auto named, read_named_keys(snapshot));
  return KeyHistory{std::move(rotations), std::move(named)};
}

Status check_current(const KeyHistory& history, RotatedKind kind, const Signer* current) {
  const std::string name(attestation::name(kind));
  const RotatedKey* newest = newest_of(history.rotations, kind);
  const NamedKey* named = named_of(history.named, kind);
  if (newest == nullptr && named == nullptr) {
    return {};
  }
  const Bytes& expected = newest != nullptr ? newest->rotation.new_key : named->key;
  if (current != nullptr && current->public_key() == expected) {
    return {};
  }
  const LeafIndex index = newest != nullptr ? newest->index : named->index;
  return fail(
      ErrorCode::kInvalidConfig,
      "the configured " + name + " key is not the one of this service: " +
          (newest != nullptr
               ? "the " + name + " key was rotated (log record " + std::to_string(index) +
                     "), and the configured one is not its heir; configure the heir"
               : "log record " + std::to_string(index) +
                     " names another; configure that one, and replace it with 'assayd rotate " +
                     name + "'"),
      kind == RotatedKind::kEar ? "/attestation/ear_key_files" : "/" + name + "_key_file");
}

Status name_keys(storage::Store& store, const KeyHistory& history, const Signer& service,
                 const Signer* ear) {
  std::vector<std::pair<RotatedKind, const Signer*>> unnamed;
  for (const auto& [kind, signer] :
       {std::pair(RotatedKind::kService, &service), std::pair(RotatedKind::kEar, ear)}) {
    if (signer != nullptr && newest_of(history.rotations, kind) == nullptr &&
        named_of(history.named, kind) == nullptr) {
      unnamed.emplace_back(kind, signer);
    }
  }
  if (unnamed.empty()) {
    return {};
  }
  const auto work = [&](storage::Transaction& transaction) -> Status {
    for (const auto& [kind, signer] : unnamed) {
      ASSAY_TRY(transaction.append({.type = std::string(event::kKeyNamed),
                                    .time = transaction.now(),
                                    .actor = "system",
                                    .subjects = {signer->key_id().text()},
                                    .documents = {},
                                    .detail = {{"kind", attestation::name(kind)},
                                               {"key", base64_encode(signer->public_key())}}}));
    }
    return {};
  };
  ASSAY_TRY(store.write(work));
  return {};
}

}  // namespace assay::server
