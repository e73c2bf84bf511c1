// SPDX-License-Identifier: Apache-2.0
// `assayd rotate`: replaces one of the service's keys, while no service runs.
#pragma once

#include <string>

#include "attestation/key_rotation.h"
#include "schemas/core/clock.h"
#include "server/config.h"

namespace assay::server {

// What a rotation did.
struct RotateReport {
  attestation::RotatedKind kind;
  std::string old_key_id;
  std::string new_key_id;
  std::string new_key_file;  // file that the configuration must name from now on
  std::string verifier_key;  // of the new log key; empty for other kinds
  LeafIndex record = 0;      // log index of the rotation's record
  Timestamp time;            // of that record
  bool made = false;         // the key was made, because its file did not exist
};
[[nodiscard]] Json to_json(const RotateReport& report);

// Replaces the configured key of `kind` by the key in `new_key_file`. If that file does not exist,
// makes it with a new key. The log gets a record signed by the old key. The operator must then
// change the configuration, because the service does not start with the old key. Running an
// interrupted rotation again finishes it. Errors: key-not-unique for a key that the service has or
// had; unsupported-key for a key of another algorithm; invalid-config when there is no key to
// replace; unavailable while a service runs; the errors of opening a store.
[[nodiscard]] Result<RotateReport> rotate_key(const Config& config, attestation::RotatedKind kind,
                                              const std::string& new_key_file, const Clock& clock);

}  // namespace assay::server
