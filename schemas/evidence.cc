// SPDX-License-Identifier: Apache-2.0
// Evidence: shape by evidence.schema.json. Report data: exact bytes in schemas/evidence.h.
#include "schemas/evidence.h"

#include <algorithm>

#include "schemas/core/hmac.h"
#include "schemas/core/sha.h"
#include "schemas/document.h"
#include "schemas/report_data.h"

namespace assay {
namespace {

constexpr std::string_view kEnrolDomain = kChallengeDomains[0];
constexpr std::string_view kReportDomain = kChallengeDomains[1];
constexpr std::string_view kDeviceDomain = "assay/device/v1";
constexpr std::string_view kStatementDomain = "assay/statement/v1";
constexpr std::string_view kPlatformDomain = "assay/platform/v1";

Status check_event_log(const Bytes& event_log) {
  return event_log.size() <= kMaxEventLogBytes
             ? Status()
             : fail(ErrorCode::kLimitExceeded, "an event log has at most 256 KiB");
}

Status check_collateral(const Json& collateral) {
  ASSAY_ASSIGN(const std::string text, canonical_json(collateral));
  return text.size() <= kMaxEvidenceCollateralBytes
             ? Status()
             : fail(ErrorCode::kLimitExceeded, "collateral has at most 6 MiB");
}

}  // namespace

ReportDataBytes report_data_of(std::string_view domain, const ReportDataParts& parts) {
  constexpr std::array<std::uint8_t, 1> kEnd = {0};
  return sha512({as_bytes(domain), kEnd, parts.nonce, parts.key.bytes(), parts.third.bytes()});
}

static auto members_of(json::As<Evidence>) {
  using T = Evidence;
  return std::tuple(json::always("type", &T::type), json::if_set("media_type", &T::media_type),
                    json::always("quote", &T::quote),
                    json::if_set("event_log", &T::event_log, json::checked(check_event_log)),
                    json::if_set("collateral", &T::collateral, json::checked(check_collateral)));
}
static Status together(const Evidence& evidence) {
  return evidence.quote.size() <= max_quote_bytes(evidence.type)
             ? Status()
             : fail(ErrorCode::kLimitExceeded,
                    "a quote has at most 32 KiB, and evidence of other types 1 MiB", "/quote");
}
Json to_json(const Evidence& evidence) { return json::write(evidence); }
Result<Evidence> read_json(json::As<Evidence> /*type*/, const Json& json) {
  ASSAY_TRY(validate("evidence", json));
  return json::read<Evidence>(json);
}

static auto members_of(json::As<EnrolmentRequest>) {
  using T = EnrolmentRequest;
  return std::tuple(json::always("audience", &T::audience), json::always("node", &T::node),
                    json::always("platform", &T::platform),
                    json::constant("purpose", name(ChallengePurpose::kEnrol)),
                    json::if_set("identity_token", &T::identity_token),
                    json::if_set("devices", &T::devices));
}
Json to_json(const EnrolmentRequest& request) { return json::write(request); }
Result<EnrolmentRequest> read_json(json::As<EnrolmentRequest> /*type*/, const Json& json) {
  return json::read<EnrolmentRequest>(json);
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

Nonce device_nonce(const Nonce& nonce, ByteView spki) {
  constexpr std::array<std::uint8_t, 1> kEnd = {0};
  const Digest key = sha256(spki);
  const Digest digest =
      sha(HashAlgorithm::kSha256, {as_bytes(kDeviceDomain), kEnd, nonce, key.bytes()});
  Nonce made{};
  std::ranges::copy(digest.bytes(), made.begin());
  return made;
}

ReportDataBytes device_report_data(const Nonce& device_nonce) {
  ReportDataBytes data{};
  std::ranges::copy(device_nonce, data.begin());
  return data;
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
