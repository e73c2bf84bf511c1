// SPDX-License-Identifier: Apache-2.0
// The verifiers of all types of evidence, by type and by media type. Built-in ones and plug-ins
// stand behind the same interface.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "attestation/evidence_verifier.h"

namespace assay::attestation {

// The built-in verifiers (TDX, SEV-SNP, results of other verifiers), and those that were added.
// Thread-safe after the last add().
class VerifierRegistry {
 public:
  VerifierRegistry();
  VerifierRegistry(VerifierRegistry&&) noexcept;
  VerifierRegistry& operator=(VerifierRegistry&&) noexcept;
  ~VerifierRegistry();

  // Adds a verifier. Errors: invalid-parameter when there is one for its type or its media type.
  [[nodiscard]] Status add(std::unique_ptr<const EvidenceVerifier> verifier);

  // Returns the verifier of a type; of a media type. Borrowed. Errors: evidence-type-unknown.
  [[nodiscard]] Result<const EvidenceVerifier*> of_type(std::string_view type) const;
  [[nodiscard]] Result<const EvidenceVerifier*> of_media_type(std::string_view media_type) const;

  // Appraises evidence with the verifier of its type. Errors: evidence-type-unknown, also for an
  // appraisal of another type and for a media type that is not the verifier's; those of
  // EvidenceVerifier::appraise().
  [[nodiscard]] Result<AppraisedEvidence> appraise(const Evidence& evidence,
                                                   const Appraisal& appraisal, Purpose purpose,
                                                   const ReportDataBytes& expected,
                                                   Timestamp now) const;

  // Checks that an appraisal can be used. Errors: evidence-type-unknown; those of
  // EvidenceVerifier::check().
  [[nodiscard]] Status check(const Appraisal& appraisal) const;

  // All verifiers, built-in ones first. Borrowed.
  [[nodiscard]] const std::vector<std::unique_ptr<const EvidenceVerifier>>& all() const {
    return verifiers_;
  }

 private:
  std::vector<std::unique_ptr<const EvidenceVerifier>> verifiers_;
};

// Returns a registry without plug-ins, made once.
[[nodiscard]] const VerifierRegistry& built_in_verifiers();

// Returns the appraisal that is in force for a type while the trust store has none: the vendor's
// anchor and the verifier's default policy. For a type that is not built in: an empty policy, which
// names no reference values and under which nothing can enrol. It never depends on which plug-ins a
// service has.
[[nodiscard]] Appraisal default_appraisal(std::string_view type);

}  // namespace assay::attestation
