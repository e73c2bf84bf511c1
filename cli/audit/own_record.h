// SPDX-License-Identifier: Apache-2.0
// Checks that the receipt (verify.h) in an answer of the service is about the log record that names
// the caller's signature. With a receipt for another record, the service could leave the caller's
// record out of the log.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "attestation/signed_note.h"
#include "cli/documents/documents.h"

namespace assay::cli {

// Checks the answer to a statement that was stored (AcceptedStatement of schemas/openapi.yaml):
// - "record" is about this statement, and the canonical JSON of "record" has the leaf hash of the
//   receipt.
// - The record names a key that signed `document`, or the exact bytes of `envelope`. For a key that
//   signed `document`, the answer must not name a record later than the receipt.
// - With `verifier`, the receipt itself is valid: see check_receipt.
// Errors: untrusted-signer when the record names none of these keys because the service does not
// count them; log-inconsistent when the record or the receipt is otherwise not as described; those
// of receipt_from_json and check_receipt.
[[nodiscard]] Status check_own_record(const Json& answer, const LoadedDocument& document,
                                      ByteView envelope,
                                      const std::optional<attestation::NoteVerifier>& verifier);

// Returns the ids of the keys that `document` names as signers, and that the answer does not list
// as signers of the statement.
[[nodiscard]] std::set<std::string> keys_not_counted(const Json& answer,
                                                     const LoadedDocument& document);

}  // namespace assay::cli
