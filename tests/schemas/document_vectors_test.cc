// SPDX-License-Identifier: Apache-2.0
// Stored documents of each type, with every member and with the fewest, are read and written again
// without a change: the form of what is signed, stored and answered.
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "schemas/endorsements.h"
#include "schemas/impact_request.h"
#include "schemas/measured_boot.h"
#include "schemas/policy_document.h"
#include "schemas/reference_values.h"
#include "schemas/stage_evidence.h"
#include "schemas/validate.h"
#include "schemas/withdrawal.h"
#include "tests/schemas/node_samples.h"

namespace assay {
namespace {

using Again = std::function<Result<Json>(const Json&)>;

template <typename Parse>
Again body(Parse parse) {
  return [parse](const Json& json) -> Result<Json> {
    ASSAY_ASSIGN(auto value, parse(as_bytes(json.dump())));
    return to_json(value);
  };
}

template <typename Read>
Again part(Read read) {
  return [read](const Json& json) -> Result<Json> {
    ASSAY_ASSIGN(auto value, read(json));
    return to_json(value);
  };
}

const std::map<std::string, Again>& codecs() {
  static const std::map<std::string, Again> kCodecs = {
      {"appraisal", part(appraisal_from_json)},
      {"bootstrap", body(parse_bootstrap)},
      {"challenge", part(json::get<Challenge>)},
      {"challenge-request", body(parse_challenge_request)},
      {"endorsements", body(parse_endorsements)},
      {"enrolment", body(parse_enrolment)},
      {"evidence", part(json::get<Evidence>)},
      {"heartbeat", body(parse_heartbeat)},
      {"heartbeat-answer", body(parse_heartbeat_answer)},
      {"impact-request", body(parse_impact_request)},
      {"job-lease", body(parse_job_lease)},
      {"job-request", body(parse_job_request)},
      {"measured-boot", part(measured_boot_from_json)},
      {"outline-submission", body([](ByteView bytes) {
         return parse_outline_submission(bytes, HashAlgorithm::kSha256);
       })},
      {"policy", body([](ByteView bytes) { return parse_policy(bytes); })},
      {"principal", part(principal_from_json)},
      {"reference-tag", part(reference_tag_from_json)},
      {"registration", part(registration_from_json)},
      {"report-answer", body(parse_report_answer)},
      {"report-submission", body(parse_report_submission)},
      {"spot-submission", body(parse_spot_submission)},
      {"stage-evidence", body(parse_stage_evidence)},
      {"trust-change", body(parse_trust_change)},
      {"trusted-key", part(trusted_key_from_json)},
      {"verification-report", body(parse_verification_report)},
      {"withdrawal", body(parse_withdrawal)},
      {"withdrawn", part(json::get<Withdrawn>)},
  };
  return kCodecs;
}

TEST(DocumentVectors, Documents_AreWrittenAsTheyWereRead) {
  const Json vectors = test::load_vectors("documents.json");
  ASSERT_EQ(vectors.size(), codecs().size());
  for (const auto& [type, documents] : vectors.items()) {
    ASSERT_TRUE(codecs().contains(type)) << type;
    EXPECT_FALSE(documents.empty()) << type;
    for (const Json& document : documents) {
      const auto again = codecs().at(type)(document);
      ASSERT_TRUE(again) << type << " " << to_string(again.error()) << document;
      EXPECT_EQ(canonical_json(*again).value(), canonical_json(document).value()) << type;
    }
  }
}

}  // namespace
}  // namespace assay
