// SPDX-License-Identifier: Apache-2.0
// Imported reference values (schemas/reference_values.h) in changes of trust: who may bring them,
// and which of them are in force. Internal to this folder.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attestation/corim/reference_document.h"
#include "schemas/trust.h"
#include "server/service/services.h"

namespace assay::server {

// A document that was read, and whose signature was verified.
struct ReadReferences {
  attestation::corim::ReferenceDocument document;
  std::optional<TrustedKey> signer;  // absent: unsigned, and the operation says so
};
// By operation of the change, which must outlive this map.
using PreparedReferences = std::map<const PutReferenceValues*, ReadReferences>;

// Reads the documents of a change outside of the transaction. A signed one needs a signature by a
// trusted key, valid at `now`, of purpose signer, with a role for kReferenceValuesPredicate that
// covers each tag id. Errors, with the operation in `where`: those of read_reference_document();
// untrusted-signer; signature-invalid; those of check_grant(); reference-unsigned;
// reference-class-mismatch; evidence-type-unknown for values of evidence other than TDX and
// SEV-SNP; reference-expired.
[[nodiscard]] Result<PreparedReferences> prepare_references(Services& services,
                                                            const TrustChange& change,
                                                            Timestamp now);

// Puts the tags of a document into force and returns what the log says about it. Errors: conflict
// without an appraisal of that type and stage, for a tag that another holder brought, and for one
// that replaces a tag in force; reference-rollback; limit-exceeded.
[[nodiscard]] Result<Json> put_references(storage::Transaction& transaction,
                                          const PutReferenceValues& operation,
                                          const ReadReferences& read);

// Ends a tag and returns what the log says about it. Errors: not-found; conflict when it has ended.
[[nodiscard]] Result<Json> remove_references(storage::Transaction& transaction,
                                             const RemoveReferenceValues& operation);

// Ends the tags whose signer's key is revoked. Returns "APPRAISAL TAG_ID" of each.
[[nodiscard]] Result<std::vector<std::string>> remove_references_of(
    storage::Transaction& transaction, const KeyId& key);

}  // namespace assay::server
