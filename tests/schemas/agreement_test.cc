// SPDX-License-Identifier: Apache-2.0
// Codecs and schemas agree: on a corpus of mutated documents a codec never takes what the schema
// refuses, and refuses what the schema takes only for reasons that a schema cannot express.
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "embedded/json_schemas.h"
#include "schemas/heartbeat.h"
#include "schemas/instance_message.h"
#include "schemas/log_record.h"
#include "schemas/policy_document.h"
#include "schemas/stage_evidence.h"
#include "schemas/validate.h"
#include "schemas/verification_report.h"
#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::bytes_of;
using test::code_of;

// Every document that differs from `document` in one place.
std::vector<Json> mutations(const Json& document) {
  std::vector<Json> out;
  const Json flat = document.flatten();
  std::set<std::string> places;
  for (const auto& [place, value] : flat.items()) {
    for (std::string prefix = place; !prefix.empty(); prefix.resize(prefix.rfind('/'))) {
      places.insert(prefix);
    }
  }
  for (const std::string& place : places) {
    const Json::json_pointer pointer(place);
    for (const Json& value :
         {Json(), Json(true), Json(0), Json(-1), Json(1), Json(1.5), Json(9007199254740991),
          Json(""), Json("x"), Json("X y"), Json(std::string(9000, 'a')),
          Json("2026-13-01T00:00:00.000Z"), Json::array(), Json::object(), Json({{"extra", 1}}),
          Json::array({Json::object()})}) {
      Json changed = document;
      changed[pointer] = value;
      out.push_back(std::move(changed));
    }
    Json cut = document;
    Json& parent = cut[pointer.parent_pointer()];
    if (parent.is_object()) {
      parent.erase(pointer.back());
      out.push_back(cut);
      parent = document[pointer.parent_pointer()];
      parent["extra"] = 1;
    } else {
      parent.erase(std::stoul(pointer.back()));
      out.push_back(cut);
      parent = document[pointer.parent_pointer()];
      parent.push_back(parent.front());
    }
    out.push_back(std::move(cut));
  }
  return out;
}

// Runs a codec over the corpus. `meaning` lists the codes for what a schema cannot say.
void compare(const std::string& schema, const Json& document,
             const std::function<std::string(const Json&)>& codec,
             const std::set<std::string>& meaning) {
  ASSERT_EQ(codec(document), "ok");
  int taken = 0;
  int refused = 0;
  for (const Json& changed : mutations(document)) {
    const auto status = validate(schema, changed);
    const std::string code = codec(changed);
    if (status) {
      EXPECT_TRUE(code == "ok" || meaning.contains(code)) << schema << code << changed;
      ++taken;
    } else {
      EXPECT_EQ(code, code_of(status)) << schema << changed;
      ++refused;
    }
  }
  EXPECT_GT(taken, 0) << schema;
  EXPECT_GT(refused, 20) << schema;
}

Json example(std::string_view text, std::size_t index = 0) {
  return Json::parse(text)["examples"][index];
}

TEST(Agreement, Policy) {
  for (const std::size_t index : {0U, 1U, 2U}) {
    compare("policy", example(embedded::kPolicySchemaJson, index),
            [](const Json& json) { return code_of(parse_policy(bytes_of(json))); },
            {"policy-invalid"});
  }
}

TEST(Agreement, ReferenceSet) {
  compare("reference-set", example(embedded::kReferenceSetSchemaJson),
          [](const Json& json) { return code_of(parse_reference_set(bytes_of(json))); },
          {"policy-invalid"});
}

TEST(Agreement, PolicyApproval) {
  compare("policy-approval", example(embedded::kPolicyApprovalSchemaJson),
          [](const Json& json) { return code_of(parse_policy_approval(bytes_of(json))); }, {});
}

TEST(Agreement, TrustedKey) {
  compare("trusted-key", example(embedded::kTrustedKeySchemaJson),
          [](const Json& json) { return code_of(trusted_key_from_json(json)); },
          {"schema-violation", "invalid-time", "invalid-encoding"});
}

TEST(Agreement, Principal) {
  compare("principal", example(embedded::kPrincipalSchemaJson),
          [](const Json& json) { return code_of(principal_from_json(json)); }, {"invalid-time"});
}

TEST(Agreement, TrustChange) {
  compare("trust-change", example(embedded::kTrustChangeSchemaJson),
          [](const Json& json) { return code_of(parse_trust_change(bytes_of(json))); },
          {"schema-violation", "invalid-time", "invalid-encoding"});
}

TEST(Agreement, Bootstrap) {
  compare("bootstrap", example(embedded::kBootstrapSchemaJson),
          [](const Json& json) { return code_of(parse_bootstrap(bytes_of(json))); },
          {"schema-violation", "invalid-time", "invalid-encoding"});
}

TEST(Agreement, Statement) {
  for (const std::size_t index : {0U, 1U}) {
    compare("statement", example(embedded::kStatementSchemaJson, index),
            [](const Json& json) { return code_of(parse_statement(bytes_of(json))); },
            {"invalid-digest"});
  }
}

TEST(Agreement, Lifecycle) {
  compare("lifecycle", example(embedded::kLifecycleSchemaJson),
          [](const Json& json) {
            return code_of(lifecycle_from(
                {test::sample_subjects(), std::string(kLifecyclePredicateType), json}));
          },
          {});
}

TEST(Agreement, Manifest) {
  const Statement good = *to_statement(test::sample_manifest());
  compare("manifest", good.predicate,
          [&](const Json& json) {
            Statement statement = good;
            statement.predicate = json;
            return code_of(manifest_from(statement));
          },
          {"schema-violation", "root-mismatch", "subject-mismatch", "invalid-path",
           "invalid-digest", "invalid-parameter", "limit-exceeded"});
}

TEST(Agreement, LogRecord) {
  compare("log-record", example(embedded::kLogRecordSchemaJson),
          [](const Json& json) {
            const auto canonical = canonical_json(json);
            return canonical ? code_of(parse_log_record(as_bytes(*canonical))) : "malformed-json";
          },
          {"invalid-time", "schema-violation"});
}

TEST(Agreement, Appraisal) {
  compare("appraisal", example(embedded::kAppraisalSchemaJson, 1),
          [](const Json& json) { return code_of(appraisal_from_json(json)); },
          {"invalid-encoding"});
}

TEST(Agreement, StageEvidence) {
  compare("stage-evidence", example(embedded::kStageEvidenceSchemaJson),
          [](const Json& json) { return code_of(parse_stage_evidence(bytes_of(json))); },
          {"invalid-encoding", "invalid-digest", "evidence-type-unknown", "limit-exceeded"});
}

TEST(Agreement, Registration) {
  for (const std::size_t which : {0U, 1U}) {
    compare("registration", example(embedded::kRegistrationSchemaJson, which),
            [](const Json& json) { return code_of(registration_from_json(json)); },
            {"schema-violation"});
  }
}

TEST(Agreement, ChallengeRequest) {
  compare("challenge-request", example(embedded::kChallengeRequestSchemaJson),
          [](const Json& json) { return code_of(parse_challenge_request(bytes_of(json))); }, {});
}

TEST(Agreement, Challenge) {
  compare("challenge", example(embedded::kChallengeSchemaJson, 1),
          [](const Json& json) { return code_of(json::get<Challenge>(json)); }, {"invalid-time"});
}

TEST(Agreement, Evidence) {
  compare("evidence", example(embedded::kEvidenceSchemaJson),
          [](const Json& json) { return code_of(json::get<Evidence>(json)); },
          {"invalid-encoding", "evidence-type-unknown"});
}

TEST(Agreement, Enrolment) {
  for (const std::size_t index : {0U, 1U}) {
    compare("enrolment", example(embedded::kEnrolmentSchemaJson, index),
            [](const Json& json) { return code_of(parse_enrolment(bytes_of(json))); },
            {"invalid-encoding", "evidence-type-unknown"});
  }
}

// Of each message both codecs take one side's: the other refuses it as schema-violation.
TEST(Agreement, InstanceMessage) {
  const std::size_t count = Json::parse(embedded::kInstanceMessageSchemaJson)["examples"].size();
  for (std::size_t index = 0; index < count; ++index) {
    const Json message = example(embedded::kInstanceMessageSchemaJson, index);
    if (message["type"] == "registered") {
      continue;  // an id alone: no other value of the corpus is one
    }
    compare("instance-message", message,
            [](const Json& json) {
              const auto owner = parse_owner_message(bytes_of(json));
              const auto agent = parse_agent_message(bytes_of(json));
              return owner ? "ok" : code_of(agent);
            },
            {"schema-violation", "invalid-time", "limit-exceeded"});
  }
}

TEST(Agreement, JobRequest) {
  for (const std::size_t index : {1U, 3U}) {
    compare("job-request", example(embedded::kJobRequestSchemaJson, index),
            [](const Json& json) { return code_of(parse_job_request(bytes_of(json))); },
            {"schema-violation"});
  }
}

TEST(Agreement, JobLease) {
  for (const std::size_t index : {0U, 1U}) {
    compare("job-lease", example(embedded::kJobLeaseSchemaJson, index),
            [](const Json& json) { return code_of(parse_job_lease(bytes_of(json))); },
            {"schema-violation", "invalid-time", "challenge-mismatch"});
  }
}

TEST(Agreement, VerificationReport) {
  for (const std::size_t index : {0U, 1U}) {
    compare("verification-report", example(embedded::kVerificationReportSchemaJson, index),
            [](const Json& json) { return code_of(parse_verification_report(bytes_of(json))); },
            {"schema-violation", "invalid-time", "invalid-path", "invalid-digest"});
  }
}

TEST(Agreement, Heartbeat) {
  compare("heartbeat", example(embedded::kHeartbeatSchemaJson),
          [](const Json& json) { return code_of(parse_heartbeat(bytes_of(json))); },
          {"schema-violation"});
}

TEST(Agreement, HeartbeatAnswer) {
  compare("heartbeat-answer", example(embedded::kHeartbeatAnswerSchemaJson),
          [](const Json& json) { return code_of(parse_heartbeat_answer(bytes_of(json))); }, {});
}

TEST(Agreement, ReportSubmission) {
  for (const std::size_t index : {0U, 1U}) {
    compare("report-submission", example(embedded::kReportSubmissionSchemaJson, index),
            [](const Json& json) { return code_of(parse_report_submission(bytes_of(json))); },
            {"invalid-encoding", "evidence-type-unknown"});
  }
}

TEST(Agreement, ReportAnswer) {
  for (const std::size_t index : {1U, 2U}) {
    compare("report-answer", example(embedded::kReportAnswerSchemaJson, index),
            [](const Json& json) { return code_of(parse_report_answer(bytes_of(json))); },
            {"schema-violation", "invalid-time", "challenge-mismatch"});
  }
}

TEST(Agreement, OutlineSubmission) {
  compare("outline-submission", example(embedded::kOutlineSubmissionSchemaJson),
          [](const Json& json) {
            return code_of(parse_outline_submission(bytes_of(json), HashAlgorithm::kSha256));
          },
          {"schema-violation", "invalid-digest"});
}

TEST(Agreement, SpotSubmission) {
  compare("spot-submission", example(embedded::kSpotSubmissionSchemaJson),
          [](const Json& json) { return code_of(parse_spot_submission(bytes_of(json))); }, {});
}

}  // namespace
}  // namespace assay
