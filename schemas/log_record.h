// SPDX-License-Identifier: Apache-2.0
// Records of the audit log. Byte-exact form: schemas/log.md.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

// Largest size of a record in bytes. An entry bundle (C2SP tlog-tiles) stores the length of each
// record in 16 bits.
inline constexpr std::size_t kMaxLogRecordBytes = 65535;

namespace event {
inline constexpr std::string_view kTrustBootstrapped = "trust.bootstrapped";
inline constexpr std::string_view kTrustChanged = "trust.changed";
inline constexpr std::string_view kManifestAccepted = "manifest.accepted";
inline constexpr std::string_view kAttestationAccepted = "attestation.accepted";
inline constexpr std::string_view kPolicyAccepted = "policy.accepted";
inline constexpr std::string_view kPolicyActivated = "policy.activated";
inline constexpr std::string_view kPolicyDeactivated = "policy.deactivated";
inline constexpr std::string_view kDecisionMade = "decision.made";
inline constexpr std::string_view kEvidenceAppraised = "evidence.appraised";
inline constexpr std::string_view kNodeEnrolled = "node.enrolled";
inline constexpr std::string_view kNodeEnded = "node.ended";
inline constexpr std::string_view kNodeSuperseded = "node.superseded";
inline constexpr std::string_view kInstanceChanged = "instance.changed";
inline constexpr std::string_view kOutlineAccepted = "outline.accepted";
inline constexpr std::string_view kJobCreated = "job.created";
inline constexpr std::string_view kJobFinished = "job.finished";
inline constexpr std::string_view kReportAccepted = "report.accepted";
inline constexpr std::string_view kNotApplicable = "admission.not-applicable";
inline constexpr std::string_view kLogReopened = "log.reopened";
inline constexpr std::string_view kKeyNamed = "key.named";
inline constexpr std::string_view kKeyRotated = "key.rotated";
inline constexpr std::string_view kStatementWithdrawn = "statement.withdrawn";
inline constexpr std::string_view kPodsAffected = "pods.affected";
inline constexpr std::string_view kCollateralAccepted = "collateral.accepted";
inline constexpr std::array kAll = {
    kTrustBootstrapped, kTrustChanged,       kManifestAccepted,  kAttestationAccepted,
    kPolicyAccepted,    kPolicyActivated,    kPolicyDeactivated, kDecisionMade,
    kEvidenceAppraised, kNodeEnrolled,       kNodeEnded,         kNodeSuperseded,
    kInstanceChanged,   kOutlineAccepted,    kJobCreated,        kJobFinished,
    kReportAccepted,    kNotApplicable,      kLogReopened,       kKeyNamed,
    kKeyRotated,        kStatementWithdrawn, kPodsAffected,      kCollateralAccepted};
}  // namespace event

struct LogRecord {
  std::string type;
  Timestamp time;
  std::string actor;                  // principal name, or "system"
  std::vector<std::string> subjects;  // artifact ids and other ids; encode() sorts them
  std::vector<DocumentId> documents;  // digests of exact stored bytes, in order
  Json detail = Json::object();       // details of the event; limited by kMaxLogRecordBytes
};

// Returns the canonical bytes. Errors: limit-exceeded for more than kMaxLogRecordBytes.
[[nodiscard]] Result<std::string> encode(const LogRecord& record);
// Parses a record. Errors: schema-violation for bytes that encode() would not produce.
[[nodiscard]] Result<LogRecord> parse_log_record(ByteView bytes);

}  // namespace assay
