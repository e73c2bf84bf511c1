// SPDX-License-Identifier: Apache-2.0
// Accepts signed statements: parses them, verifies their signatures against the trust store, stores
// and logs them. A statement is stored only if every check passes. A statement that is stored
// already is not stored twice. Only signatures that count are stored as its signers: a signature of
// a key that may not sign this statement stays in the bytes of the envelope and means nothing. Who
// gets the role later sends the envelope again.
#pragma once

#include "server/service/services.h"

namespace assay::server {

// An accepted statement.
struct Accepted {
  storage::StatementRow row;
  bool created;  // false: the statement was stored before, with these signatures
  Json receipt;  // log receipt (receipt.h) of `record`
  Json record;   // newest log record that names a signature of the envelope
};

// Accepts a manifest: a DSSE envelope over an in-toto statement with the merkle-manifest predicate.
// At least one signature must come from a publisher whose role covers the model name.
[[nodiscard]] Result<Accepted> accept_manifest(Services& services, ByteView envelope,
                                               const Principal& actor);

// Accepts an attestation: a DSSE envelope over any other in-toto statement. A lifecycle statement
// must follow its schema; a challenge in its member "freshness" must be one that `actor` got
// (issue_statement_challenge() in nodes/challenge.h), and is spent when the statement is stored for
// the first time (challenge-unknown, challenge-used, challenge-mismatch and challenge-expired
// otherwise). At least one signature must come from a signer key whose role covers the stage, the
// predicate type and the name of each subject; only such signatures are stored. A placement
// statement, which adds locations to an artifact, must follow its own schema and come from a
// publisher whose role covers the name. The same holds for a release statement; the release that it
// supersedes must be stored under the same name (conflict otherwise). A signature of OpenSSF Model
// Signing must be one (attestation/oms/statement.h), and its signer needs a role for every name.
[[nodiscard]] Result<Accepted> accept_attestation(Services& services, ByteView envelope,
                                                  const Principal& actor);

}  // namespace assay::server
