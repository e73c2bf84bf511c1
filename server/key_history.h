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

// invalid-config when keys of this kind were rotated and `current` is not the newest one, or null.
[[nodiscard]] Status check_current(const std::vector<RotatedKey>& rotations,
                                   attestation::RotatedKind kind, const Signer* current);

}  // namespace assay::server
