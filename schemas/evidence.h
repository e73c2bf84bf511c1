// SPDX-License-Identifier: Apache-2.0
// Evidence of a node (a TDX quote, a SEV-SNP report) in the form in which documents contain it, and
// the report data that a node must put into its evidence (docs/design.md, "Evidence").
// attestation/tdx and attestation/snp interpret them.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/challenge.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/ids.h"
#include "schemas/core/json.h"

namespace assay {

inline constexpr std::string_view kTdxEvidence = "tdx";
inline constexpr std::string_view kSnpEvidence = "sev-snp";
inline constexpr std::string_view kNvidiaEvidence = "nvidia-gpu";  // of one device of a node
inline constexpr std::string_view kNvidiaMediaType = "application/vnd.assay.nvidia-device+json";
// Of `quote`: a TDX quote, and evidence of any other type. What verifiers elsewhere say of a
// machine repeats its event log, and several devices have a chain of certificates each.
inline constexpr std::size_t kMaxQuoteBytes = 32U << 10;
inline constexpr std::size_t kMaxOtherEvidenceBytes = 1U << 20;
inline constexpr std::size_t kMaxEventLogBytes = 256U << 10;
inline constexpr std::size_t kMaxEvidenceCollateralBytes = 6U << 20;  // JSON text

// JSON: {"type":"tdx","media_type","quote":BASE64,"event_log":BASE64,"collateral":{nine strings}}.
// For sev-snp, `quote` is a report with its certificate table, and collateral {"crl"}. For
// nvidia-gpu, `quote` is the JSON of one device (attestation/nvidia/evidence_file.h). Other types
// are verified by plug-ins: their quote and collateral are what the plug-in understands. Schema:
// evidence.schema.json. `event_log` says what the machine started; only its replay to the registers
// in the quote makes it true. `collateral` is verified by its own signatures under the configured
// anchor (root certificate). Null: the service must already have the collateral.
struct Evidence {
  std::string type;
  Bytes quote;
  Bytes event_log;  // empty: none
  Json collateral;  // object, or null
  // Media type, where the sender says it: then it is that of the type. Empty: not said.
  std::string media_type{};
};
[[nodiscard]] Json to_json(const Evidence& evidence);
// Checks shape, base64 and sizes. Whether there is a verifier for the type is not known here.
// Errors: limit-exceeded; invalid-encoding; the errors of validate().
[[nodiscard]] Result<Evidence> read_json(json::As<Evidence> type, const Json& json);
// Returns the limit on `quote` for evidence of this type.
[[nodiscard]] constexpr std::size_t max_quote_bytes(std::string_view type) {
  return type == kTdxEvidence ? kMaxQuoteBytes : kMaxOtherEvidenceBytes;
}

// REPORTDATA of a TDX quote, REPORT_DATA of a SEV-SNP report: 64 bytes.
using ReportDataBytes = std::array<std::uint8_t, 64>;

// What an enrolment asks for. The report data of the evidence contains a hash over the JCS bytes of
// this request. JSON: {"audience","node","platform","purpose":"enrol"}, "identity_token" when there
// is one, and "devices" when there is evidence of devices.
struct EnrolmentRequest {
  std::string audience;
  std::string node;
  std::string
      platform;  // as AppraisedEvidence names it, such as a PPID in hex; empty without evidence
  std::string identity_token{};   // lowercase hex of the token's SHA-256; empty without a token
  std::vector<Digest> devices{};  // SHA-256 of the `quote` of each device's evidence, in its order
  bool operator==(const EnrolmentRequest&) const = default;
};
[[nodiscard]] Json to_json(const EnrolmentRequest& request);
[[nodiscard]] Result<EnrolmentRequest> read_json(json::As<EnrolmentRequest> type, const Json& json);

// Returns SHA-512("assay/enrol/v1" || 0x00 || nonce || SHA-256(spki) || SHA-256(JCS(request))).
[[nodiscard]] ReportDataBytes enrolment_report_data(const Nonce& nonce, ByteView spki,
                                                    const EnrolmentRequest& request);
// Returns SHA-512("assay/report/v1" || 0x00 || nonce || SHA-256(spki) || SHA-256(report payload)).
[[nodiscard]] ReportDataBytes report_report_data(const Nonce& nonce, ByteView spki,
                                                 ByteView report_payload);
// Returns SHA-256("assay/device/v1" || 0x00 || nonce || SHA-256(spki)), the nonce with which each
// device of an enrolment is asked. As report data of that evidence it stands before 32 bytes of
// zero.
[[nodiscard]] Nonce device_nonce(const Nonce& nonce, ByteView spki);
[[nodiscard]] ReportDataBytes device_report_data(const Nonce& device_nonce);
// Returns SHA-512("assay/statement/v1" || 0x00 || statement id || SHA-256(spki)), with the 32 bytes
// of the id. `spki` is the key that signed the statement.
[[nodiscard]] ReportDataBytes statement_report_data(const StatementId& statement, ByteView spki);

// Returns the platform of evidence of types other than TDX: lowercase hex of
// SHA-256("assay/platform/v1" || 0x00 || type || 0x00 || id), where `id` is what its verifier takes
// for the identity of the machine. It is longer than the PPID of TDX, so that evidence of one type
// never names a platform of another.
[[nodiscard]] std::string plugin_platform(std::string_view type, ByteView id);

}  // namespace assay
