// SPDX-License-Identifier: Apache-2.0
// Accepting signed statements: parse, verify against the trust store, store, log. Nothing is stored
// unless everything holds; the same document again is found, not stored twice.
#pragma once

#include "server/service/services.h"

namespace assay::server {

struct Accepted {
  storage::StatementRow row;
  bool created;  // false: it was there already (with these signatures)
  Json receipt;  // see log_receipt; of the newest record that names a signature of the envelope
  Json record;   // that record
};

// A DSSE envelope over an in-toto statement with the merkle-manifest predicate, signed by at least
// one publisher whose role covers the model name.
[[nodiscard]] Result<Accepted> accept_manifest(Services& services, ByteView envelope,
                                               const Principal& actor);

// A DSSE envelope over any other in-toto statement. Lifecycle statements must follow their schema;
// at least one signature must come from a signer key whose role covers stage, predicate type and
// the name of each subject. Placement statements must follow theirs and come from a publisher whose
// role covers the name.
[[nodiscard]] Result<Accepted> accept_attestation(Services& services, ByteView envelope,
                                                  const Principal& actor);

}  // namespace assay::server
