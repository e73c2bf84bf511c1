// SPDX-License-Identifier: Apache-2.0
// Evidence: shape by evidence.schema.json. Report data: exact bytes in schemas/evidence.h.
#include "schemas/evidence.h"

#include "schemas/core/hmac.h"
#include "schemas/core/sha.h"
#include "schemas/members.h"
#include "schemas/report_data.h"
#include "schemas/validate.h"

namespace assay {
namespace {

constexpr std::string_view kEnrolDomain = kChallengeDomains[0];
constexpr std::string_view kReportDomain = kChallengeDomains[1];
constexpr std::string_view kStatementDomain = "assay/statement/v1";
constexpr std::string_view kPlatformDomain = "assay/platform/v1";

Result<Json> read_collateral(const Json& json) {
  const auto found = json.find("collateral");
  if (found == json.end() || found->is_null()) {
    return Json();
  }
  ASSAY_ASSIGN(const std::string text, canonical_json(*found));
  if (text.size() > kMaxEvidenceCollateralBytes) {
    return fail(ErrorCode::kLimitExceeded, "collateral has at most 6 MiB", "/collateral");
  }
  return *found;
}

}  // namespace

ReportDataBytes report_data_of(std::string_view domain, const ReportDataParts& parts) {
  constexpr std::array<std::uint8_t, 1> kEnd = {0};
  return sha512({as_bytes(domain), kEnd, parts.nonce, parts.key.bytes(), parts.third.bytes()});
}

Json to_json(const Evidence& evidence) {
  Json json = {{"type", evidence.type}, {"quote", base64_encode(evidence.quote)}};
  if (!evidence.media_type.empty()) {
    json["media_type"] = evidence.media_type;
  }
  if (!evidence.event_log.empty()) {
    json["event_log"] = base64_encode(evidence.event_log);
  }
  if (!evidence.collateral.is_null()) {
    json["collateral"] = evidence.collateral;
  }
  return json;
}

Result<Evidence> evidence_from_json(const Json& json) {
  ASSAY_TRY(validate("evidence", json));
  Evidence evidence;
  evidence.type = members::text(json, "type");
  evidence.media_type = members::text(json, "media_type");
  auto quote = base64_decode(members::text(json, "quote"));
  if (!quote) {
    return members::under("/quote", std::move(quote).error());
  }
  if (quote->size() > max_quote_bytes(evidence.type)) {
    return fail(ErrorCode::kLimitExceeded,
                "a quote has at most 32 KiB, and evidence of other types 1 MiB", "/quote");
  }
  evidence.quote = *std::move(quote);
  auto event_log = base64_decode(members::text(json, "event_log"));
  if (!event_log) {
    return members::under("/event_log", std::move(event_log).error());
  }
  if (event_log->size() > kMaxEventLogBytes) {
    return fail(ErrorCode::kLimitExceeded, "an event log has at most 256 KiB", "/event_log");
  }
  evidence.event_log = *std::move(event_log);
  ASSAY_ASSIGN(evidence.collateral, read_collateral(json));
  return evidence;
}

Json to_json(const EnrolmentRequest& request) {
  Json json = {{"audience", request.audience},
               {"node", request.node},
               {"platform", request.platform},
               {"purpose", name(ChallengePurpose::kEnrol)}};
  if (!request.identity_token.empty()) {
    json["identity_token"] = request.identity_token;
  }
  return json;
}

ReportDataParts enrolment_parts(const Nonce& nonce, ByteView spki,
                                const EnrolmentRequest& request) {
  // Only text that is not UTF-8 has no canonical form, and parsed requests hold none. Whoever makes
  // one up gets bytes that fit no evidence.
  const std::string canonical = canonical_json(to_json(request)).value_or(std::string());
  return {nonce, sha256(spki), sha256(as_bytes(canonical))};
}

ReportDataParts report_parts(const Nonce& nonce, ByteView spki, ByteView report_payload) {
  return {nonce, sha256(spki), sha256(report_payload)};
}

ReportDataBytes enrolment_report_data(const Nonce& nonce, ByteView spki,
                                      const EnrolmentRequest& request) {
  return report_data_of(kEnrolDomain, enrolment_parts(nonce, spki, request));
}

ReportDataBytes statement_report_data(const StatementId& statement, ByteView spki) {
  constexpr std::array<std::uint8_t, 1> kEnd = {0};
  const Digest key = sha256(spki);
  return sha512({as_bytes(kStatementDomain), kEnd, statement.digest().bytes(), key.bytes()});
}

ReportDataBytes report_report_data(const Nonce& nonce, ByteView spki, ByteView report_payload) {
  return report_data_of(kReportDomain, report_parts(nonce, spki, report_payload));
}

std::string plugin_platform(std::string_view type, ByteView id) {
  constexpr std::array<std::uint8_t, 1> kEnd = {0};
  Bytes bytes;
  for (const ByteView part :
       {as_bytes(kPlatformDomain), ByteView(kEnd), as_bytes(type), ByteView(kEnd), id}) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return sha256(bytes).hex();
}

}  // namespace assay
