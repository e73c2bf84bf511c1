// SPDX-License-Identifier: Apache-2.0
// The history of the service's keys, read from its own log, and the check that the configured keys
// are the newest ones.
#pragma once

#include <vector>

#include "attestation/key_rotation.h"
#include "storage/store.h"

namespace assay::server {

// One replacement of a key.
struct RotatedKey {
  attestation::KeyRotation rotation;
  LeafIndex index;
  Timestamp time;  // time of the record; later signatures by the old key are not valid
};

// Returns all rotations in the order of the log. Each record is proven to be in the tree at which
// `snapshot` ends. Each record is signed by the key that it replaces. That key must be the new key
// of the previous rotation of the same kind, if there was one. Errors: data-loss; log-inconsistent;
// proof-invalid; schema-violation; signature-invalid; limit-exceeded for more than 1000 records.
[[nodiscard]] Result<std::vector<RotatedKey>> read_rotations(storage::Snapshot& snapshot,
                                                             const std::string& origin);

// Returns the newest rotation of the kind; null when there was none.
[[nodiscard]] const RotatedKey* newest_of(const std::vector<RotatedKey>& rotations,
                                          attestation::RotatedKind kind);

// A log record that names the first key of a kind. The log's own key has no such record, because
// the checkpoints show that key.
struct NamedKey {
  attestation::RotatedKind kind;
  Bytes key;  // SubjectPublicKeyInfo DER
  LeafIndex index;
};
// Returns at most one key of each kind. Each record is proven to be in the log. Errors: as
// read_rotations.
[[nodiscard]] Result<std::vector<NamedKey>> read_named_keys(storage::Snapshot& snapshot);

// Everything that the log says about the service's keys.
struct KeyHistory {
  std::vector<RotatedKey> rotations;
  std::vector<NamedKey> named;
};
// Reads rotations and named keys. Errors: as read_rotations.
[[nodiscard]] Result<KeyHistory> read_key_history(storage::Snapshot& snapshot,
                                                  const std::string& origin);

// Checks the configured key of a kind; `current` is null when none is configured. Returns OK when
// the log names no key of this kind. Errors: invalid-config, with advice to the operator, when
// `current` is not the newest key of its kind in the log.
[[nodiscard]] Status check_current(const KeyHistory& history, attestation::RotatedKind kind,
                                   const Signer* current);

// Writes log records that name the first keys: the service's key and, unless `ear` is null, the key
// of attestation results. Writes no record for a kind if the log already names a key of that kind.
[[nodiscard]] Status name_keys(storage::Store& store, const KeyHistory& history,
                               const Signer& service, const Signer* ear);

}  // namespace assay::server
