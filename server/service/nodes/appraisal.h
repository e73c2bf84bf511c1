// SPDX-License-Identifier: Apache-2.0
// Evidence that came with a request: appraised, and its result stored and logged. Internal to this
// folder.
#pragma once

#include <string>

#include "attestation/evidence_verifier.h"
#include "schemas/challenge.h"
#include "server/service/services.h"

namespace assay::server {

// What the evidence answers.
struct EvidenceContext {
  std::string actor;  // principal
  std::string node;
  std::string job;  // empty for an enrolment
  ChallengePurpose purpose;
  Nonce nonce;
  Timestamp now;
};

struct Appraised {
  attestation::AppraisedEvidence evidence;
  std::string type;
  std::string document;       // canonical JSON: what is stored
  std::string ear;            // JWT; empty without a key for it, and for refused evidence
  std::uint64_t trust_epoch;  // the appraisal policy is of
  DocumentId policy;          // digest of what the evidence was held against
  Evidence presented;
  ReportDataBytes expected;
};

// Appraises under what the trust store says about the type, or else its default. Refused evidence
// is logged and becomes the error evidence-rejected.
[[nodiscard]] Result<Appraised> appraise_evidence(Services& services, storage::Snapshot& snapshot,
                                                  const Evidence& evidence,
                                                  const ReportDataBytes& expected,
                                                  const EvidenceContext& context);

// Stores and logs an accepted appraisal and its evidence, on which node or job stands from now on,
// and raises the high-water marks: collateral-rollback when newer collateral was seen, unavailable
// when trust changed since it was appraised.
[[nodiscard]] Result<DocumentId> record_appraisal(storage::Transaction& transaction,
                                                  const Appraised& appraised,
                                                  const EvidenceContext& context);

// Stores and logs what came of appraising stored evidence again, under the appraisal `policy`.
[[nodiscard]] Result<DocumentId> record_again(storage::Transaction& transaction,
                                              const storage::EvidenceRow& row,
                                              const DocumentId& policy,
                                              const attestation::AppraisedEvidence& evidence);

// The EAR in a stored appraisal, or null.
[[nodiscard]] Result<Json> stored_ear(storage::Snapshot& snapshot, const DocumentId& appraisal);

}  // namespace assay::server
