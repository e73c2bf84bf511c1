// SPDX-License-Identifier: Apache-2.0
// Appraises evidence (what a node's hardware signs about the node) that came with a request, and
// stores and logs the result. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "attestation/evidence_verifier.h"
#include "schemas/challenge.h"
#include "schemas/enrolment.h"
#include "server/service/nodes/collateral.h"
#include "server/service/services.h"

namespace assay::server {

// The request that the evidence belongs to.
struct EvidenceContext {
  std::string actor;  // principal
  std::string node;
  std::string job;  // empty for an enrolment
  ChallengePurpose purpose;
  Nonce nonce;
  Timestamp now;
};

// Evidence and its appraisal.
struct Appraised {
  attestation::AppraisedEvidence evidence;
  std::string type;
  std::string document;       // the appraisal as it is stored: canonical JSON
  std::string ear;            // JWT; empty without a signing key, and for refused evidence
  std::uint64_t trust_epoch;  // TrustEpochs::trust when the policy was read
  DocumentId policy;          // digest of the appraisal policy
  Evidence presented;
  ReportDataBytes expected;
  ChosenCollateral collateral;
};

// Evidence of a node and of its devices, all accepted.
struct Composite {
  Appraised node;
  std::vector<Appraised> devices;  // in their order
};

// Appraises evidence of a node, then that of each device. The devices are parts of the node's
// result. Logs the first evidence that is refused. Errors: those of
// attestation::appraise_composite(), and what it refuses; those of appraise_evidence().
[[nodiscard]] Result<Composite> appraise_enrolment(Services& services, storage::Snapshot& snapshot,
                                                   const Enrolment& enrolment,
                                                   const EvidenceContext& context);

// Appraises evidence under the trust store's appraisal policy for its type, or else under the
// default policy. Logs refused evidence. Errors: evidence-rejected for refused evidence; those of
// VerifierRegistry::appraise().
[[nodiscard]] Result<Appraised> appraise_evidence(Services& services, storage::Snapshot& snapshot,
                                                  const Evidence& evidence,
                                                  const ReportDataBytes& expected,
                                                  const EvidenceContext& context);

// Moves the collateral that the service keeps forward, and raises the verifier's own marks. Returns
// all marks for the row of the accepted evidence. Errors: those of advance_collateral();
// collateral-rollback when the verifier has moved on since it appraised.
[[nodiscard]] Result<Json> advance_marks(storage::Transaction& transaction,
                                         const ChosenCollateral& chosen,
                                         const attestation::AppraisedEvidence& evidence,
                                         const Bringer& bringer);

// Stores and logs an accepted appraisal and its evidence, as the newest of the node or job. Moves
// the collateral that the service keeps forward (collateral.h). Errors: those of advance_marks();
// unavailable when trust has changed since the appraisal.
[[nodiscard]] Result<DocumentId> record_appraisal(storage::Transaction& transaction,
                                                  const Appraised& appraised,
                                                  const EvidenceContext& context);

// Stores and logs the result of appraising stored evidence again. `policy` is the digest of the
// appraisal policy that was applied.
[[nodiscard]] Result<DocumentId> record_again(storage::Transaction& transaction,
                                              const storage::EvidenceRow& row,
                                              const DocumentId& policy,
                                              const attestation::AppraisedEvidence& evidence);

struct StageRow;  // stage_evidence.h

// The statement that stage evidence belongs to. Borrowed.
struct StageContext {
  std::string actor;  // principal
  const storage::StatementRow& statement;
  Timestamp now;
};

// Appraises evidence for a statement under the appraisal policy of `stage` (appraisal_in_force()).
// Refused evidence is a result. Errors: those of VerifierRegistry::appraise().
[[nodiscard]] Result<Appraised> appraise_stage(Services& services, storage::Snapshot& snapshot,
                                               const Evidence& evidence,
                                               const ReportDataBytes& expected,
                                               const std::string& stage,
                                               const StageContext& context);

// Stores and logs an appraisal of stage evidence, accepted or refused, in place of what is stored
// for `subject` (storage::stage_subject()). The time of the write becomes the time from which its
// age counts. Accepted evidence moves collateral forward. Errors: those of record_appraisal().
[[nodiscard]] Status record_stage(storage::Transaction& transaction, const Appraised& appraised,
                                  const StageContext& context, const std::string& subject,
                                  StageRow stage);

// Returns the EAR (EAT Attestation Result, a signed token) in a stored appraisal; a null JSON value
// when there is none.
[[nodiscard]] Result<Json> stored_ear(storage::Snapshot& snapshot, const DocumentId& appraisal);

}  // namespace assay::server
