// SPDX-License-Identifier: Apache-2.0
// Stage evidence and demands on it: reading, writing, and what is refused.
#include "schemas/stage_evidence.h"

#include <gtest/gtest.h>

#include "schemas/core/json_values.h"
#include "schemas/core/sha.h"
#include "schemas/policy_document.h"
#include "tests/schemas/node_samples.h"

namespace assay {
namespace {

using test::bytes_of;
using test::code_of;
using test::where_of;

StageEvidence sample() {
  return {StatementId(sha256(as_bytes("statement"))), KeyId(sha256(as_bytes("key"))),
          test::sample_evidence()};
}

TEST(StageEvidence, RoundTrips) {
  const Json json = to_json(sample());
  const auto read = parse_stage_evidence(bytes_of(json));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(to_json(*read), json);
  EXPECT_EQ(read->statement, sample().statement);
  EXPECT_EQ(read->key, sample().key);
}

TEST(StageEvidence, OtherDocuments_AreRefused) {
  for (const char* member : {"statement", "key_id", "evidence"}) {
    Json json = to_json(sample());
    json.erase(member);
    EXPECT_EQ(code_of(parse_stage_evidence(bytes_of(json))), "schema-violation") << member;
  }
  Json json = to_json(sample());
  json["verdict"] = "accepted";
  EXPECT_EQ(code_of(parse_stage_evidence(bytes_of(json))), "unknown-member");
  json = to_json(sample());
  json["evidence"]["type"] = "SEV";
  EXPECT_EQ(code_of(parse_stage_evidence(bytes_of(json))), "schema-violation");
  EXPECT_EQ(where_of(parse_stage_evidence(bytes_of(json))), "/evidence/type");
}

TEST(StageEvidence, ReportData_BindStatementAndKey) {
  const StatementId id = sample().statement;
  const Bytes key = to_bytes("key");
  const ReportDataBytes good = statement_report_data(id, key);
  EXPECT_NE(statement_report_data(StatementId(sha256(as_bytes("other"))), key), good);
  EXPECT_NE(statement_report_data(id, to_bytes("other")), good);
}

TEST(EvidenceDemands, RoundTrip) {
  EvidenceDemands demands;
  EXPECT_EQ(json::get<EvidenceDemands>(to_json(demands)), demands);
  for (const AppraisedWhen when :
       {AppraisedWhen::kBoth, AppraisedWhen::kThen, AppraisedWhen::kNow}) {
    demands.appraised = when;
    EXPECT_EQ(json::get<EvidenceDemands>(to_json(demands)), demands);
  }
  demands = {"tdx",
             AppraisedWhen::kNow,
             {"UpToDate"},
             {"OutOfDate"},
             {"sha256:00"},
             {{"mrtd", {"aa"}}, {"rtmr3", {"bb", "cc"}}},
             60,
             30,
             true};
  EXPECT_EQ(json::get<EvidenceDemands>(to_json(demands)), demands);
}

}  // namespace
}  // namespace assay
