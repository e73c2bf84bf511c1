// SPDX-License-Identifier: Apache-2.0
// Is the receipt of an answer about the record that names our signature? A receipt of another
// record promises nothing about ours, which could then be left out of the log.
#pragma once

#include <optional>

#include "attestation/signed_note.h"
#include "cli/documents/documents.h"

namespace assay::cli {

// Checks the answer to a statement that was stored (AcceptedStatement of schemas/openapi.yaml):
// - "record" is about this statement, and its canonical JSON has the leaf hash of the receipt;
// - it names a key that signed `document`, or its exact bytes; no later record names such a key;
// - with `verifier`, the receipt itself: see check_receipt.
// log-inconsistent when it is another record; errors of receipt_from_json and check_receipt.
[[nodiscard]] Status check_own_record(const Json& answer, const LoadedDocument& document,
                                      ByteView envelope,
                                      const std::optional<attestation::NoteVerifier>& verifier);

}  // namespace assay::cli
