// SPDX-License-Identifier: Apache-2.0
// `assayd rotate`: a new key in place of one of the service's, while no service runs.
#pragma once

#include <string>

#include "attestation/key_rotation.h"
#include "schemas/core/clock.h"
#include "server/config.h"

namespace assay::server {

struct RotateReport {
  attestation::RotatedKind kind;
  std::string old_key_id;
  std::string new_key_id;
  std::string new_key_file;  // what the configuration must name from now on
  std::string verifier_key;  // of the log, when that is the key
  LeafIndex record = 0;
  Timestamp time;
  bool made = false;  // the file was not there
};
[[nodiscard]] Json to_json(const RotateReport& report);

// Takes the key in `new_key_file`, or makes it there, and enters it in the log under a signature of
// the configured key of this kind. The configuration is the operator's to change afterwards: the
// service does not start with the old one. Doing it again after an interruption finishes it.
// key-not-unique for a key that the service has or had; unsupported-key for another algorithm;
// invalid-config without a key to replace; the errors of opening a store, and unavailable while a
// service runs.
[[nodiscard]] Result<RotateReport> rotate_key(const Config& config, attestation::RotatedKind kind,
                                              const std::string& new_key_file, const Clock& clock);

}  // namespace assay::server
