// SPDX-License-Identifier: Apache-2.0
// Stored OCSP answers (RFC 6960): who may sign them, what they say about one certificate, and the
// window in which that counts. An answer is verified once; its times are judged at each `now`.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/nvidia/error.h"
#include "attestation/x509/certificate.h"
#include "schemas/core/clock.h"

struct ocsp_basic_response_st;

namespace assay::attestation::nvidia {

inline constexpr std::size_t kMaxOcspBytes = 64U << 10;
inline constexpr std::size_t kMaxOcspAnswers = 64;  // about certificates, in one response
inline constexpr std::string_view kOcspSigning = "1.3.6.1.5.5.7.3.9";

// A response that was parsed; nothing in it is verified. Copies share it.
class OcspResponse {
 public:
  // Parses one DER response that fills all of `der`. Errors: INPUT_TOO_LARGE; OCSP_FORMAT, also for
  // a responder's error, for more than kMaxOcspAnswers, for times that cannot be read, and for a
  // critical extension.
  [[nodiscard]] static Checked<OcspResponse> parse(ByteView der);

  [[nodiscard]] ocsp_basic_response_st* basic() const { return basic_.get(); }

 private:
  explicit OcspResponse(std::shared_ptr<ocsp_basic_response_st> basic) : basic_(std::move(basic)) {}
  std::shared_ptr<ocsp_basic_response_st> basic_;
};

enum class CertificateState : std::uint8_t { kGood, kHold, kRevoked, kUnknown, kMissing };
// Returns "good", "hold", "revoked", "unknown" or "missing".
[[nodiscard]] std::string_view name(CertificateState state);

// A verified answer about one certificate.
struct OcspStatus {
  CertificateState state;
  std::string reason;  // of a revocation, as RFC 5280 spells it; often empty
  Timestamp this_update;
  std::optional<Timestamp> next_update;
  // When the signer's certificates end; an answer counts no longer (plus grace).
  Timestamp signer_until;
};

// How long an answer counts.
struct OcspWindow {
  std::chrono::seconds grace{0};               // after nextUpdate
  std::chrono::seconds without_next{86'400};   // after thisUpdate of an answer without nextUpdate
  std::chrono::seconds clock_difference{300};  // before thisUpdate
};

// Returns what `response` says about `certificate`, which `issuer` issued; nothing when it is about
// others. The signer is the issuer itself, or has a certificate with the purpose OCSPSigning that
// the issuer issued (RFC 6960 section 4.2.2.2). The CertID may be SHA-1, SHA-256 or SHA-384.
// Errors: OCSP_SIGNER, OCSP_SIGNATURE.
[[nodiscard]] Checked<std::optional<OcspStatus>> status_of(const OcspResponse& response,
                                                           const x509::Certificate& certificate,
                                                           const x509::Certificate& issuer);

// Returns what all verified answers say, one list for each certificate of `chain` but the last: the
// issuer of each is the next one. Responses that do not verify for a certificate say nothing.
[[nodiscard]] std::vector<std::vector<OcspStatus>> statuses_of(
    std::span<const x509::Certificate> chain, std::span<const OcspResponse> responses);

// The judgement about one certificate at a time.
struct JudgedStatus {
  CertificateState state;
  std::string reason;                     // of a revocation
  std::optional<Timestamp> counts_until;  // of an answer that counts, grace included
};
// A revocation for good counts always, whatever its window. Otherwise the newest answer whose
// window holds `now` counts: a hold can end. No such answer: kMissing.
[[nodiscard]] JudgedStatus judge_status(std::span<const OcspStatus> statuses, Timestamp now,
                                        const OcspWindow& window);

}  // namespace assay::attestation::nvidia
