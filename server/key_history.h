// SPDX-License-Identifier: Apache-2.0
// Which keys the service had before, as its own log says, and whether the configured ones are their
// heirs.
#pragma once

#include <vector>

#include "attestation/key_rotation.h"
#include "storage/store.h"

namespace assay::server {

struct RotatedKey {
  attestation::KeyRotation rotation;
  LeafIndex index;
  Timestamp time;  // of the record: the old key counts for nothing that is later
};

// All rotations in the order of the log. Each record is proven to be in the tree that `snapshot`
// ends at, is signed by the key that it replaces, and follows the one before it. data-loss,
// log-inconsistent, proof-invalid, schema-violation, signature-invalid.
[[nodiscard]] Result<std::vector<RotatedKey>> read_rotations(storage::Snapshot& snapshot,
                                                             const std::string& origin);

// The newest rotation of a kind; null when there was none.
[[nodiscard]] const RotatedKey* newest_of(const std::vector<RotatedKey>& rotations,
                                          attestation::RotatedKind kind);

// A key that the log names as the first of its kind. The log's own needs no such record: it signs
// the checkpoints.
struct NamedKey {
  attestation::RotatedKind kind;
  Bytes key;  // SubjectPublicKeyInfo DER
  LeafIndex index;
};
// At most one of each kind; each record is proven to be in the log. Errors as read_rotations.
[[nodiscard]] Result<std::vector<NamedKey>> read_named_keys(storage::Snapshot& snapshot);

// What the log says of the service's keys.
struct KeyHistory {
  std::vector<RotatedKey> rotations;
  std::vector<NamedKey> named;
};
[[nodiscard]] Result<KeyHistory> read_key_history(storage::Snapshot& snapshot,
                                                  const std::string& origin);

// invalid-config, with what to do, when the log knows of a key of this kind and `current` is not
// the newest one, or null.
[[nodiscard]] Status check_current(const KeyHistory& history, attestation::RotatedKind kind,
                                   const Signer* current);

// Enters the service's key, and that of attestation results when there is one (null: none), unless
// the log knows of a key of that kind already.
[[nodiscard]] Status name_keys(storage::Store& store, const KeyHistory& history,
                               const Signer& service, const Signer* ear);

}  // namespace assay::server
