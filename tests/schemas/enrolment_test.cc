// SPDX-License-Identifier: Apache-2.0
// Challenges, evidence and enrolments: reading, writing, and what is refused.
#include <gtest/gtest.h>

#include "tests/schemas/node_samples.h"

namespace assay {
namespace {

using test::bytes_of;
using test::code_of;
using test::sample_challenge;
using test::sample_enrolment;
using test::sample_evidence;
using test::where_of;

Json changed(Json json, const char* place, const Json& value) {
  json[Json::json_pointer(place)] = value;
  return json;
}

// --- nonces and names

TEST(Nonce, Text_RoundTrips) {
  Nonce nonce{};
  for (std::size_t i = 0; i < nonce.size(); ++i) {
    nonce.at(i) = static_cast<std::uint8_t>(7 * i);
  }
  EXPECT_EQ(text(nonce).substr(0, 8), "00070e15");
  EXPECT_EQ(parse_nonce(text(nonce)), nonce);
}

TEST(Nonce, OtherTexts_AreRefused) {
  const std::string good = text(test::sample_nonce());
  for (const std::string& bad :
       {std::string(), good.substr(1), good.substr(2), good + "0", good + "00",
        "9F" + good.substr(2), " " + good.substr(1), "0x" + good.substr(2)}) {
    EXPECT_EQ(code_of(parse_nonce(bad)), "invalid-encoding") << bad;
  }
}

TEST(NodeName, DnsSubdomains_AreTaken) {
  for (const std::string& name : {std::string("a"), std::string("0"), std::string("gpu-1"),
                                  std::string("gpu-1.rack--2.example"), std::string(253, 'a')}) {
    EXPECT_TRUE(check_node_name(name)) << name;
  }
}

TEST(NodeName, Others_AreRefused) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string("a."), std::string(".a"), std::string("a..b"),
        std::string("-a"), std::string("a-"), std::string("a.-b"), std::string("GPU"),
        std::string("a_b"), std::string("a/b"), std::string("a\0b", 3), std::string("\xc3\xa9"),
        std::string(254, 'a')}) {
    EXPECT_EQ(code_of(check_node_name(name)), "invalid-parameter") << name;
  }
}

// The schema's pattern and check_node_name() are two spellings of one rule.
TEST(NodeName, SchemaAndFunction_Agree) {
  for (const std::string& name :
       {std::string("a"), std::string("a.b-c.0"), std::string("a..b"), std::string("a-.b"),
        std::string("-"), std::string("A"), std::string("a b"), std::string(253, 'x'),
        std::string(254, 'x'), std::string()}) {
    const Json json = {{"purpose", "enrol"}, {"node", name}};
    EXPECT_EQ(parse_challenge_request(bytes_of(json)).has_value(),
              check_node_name(name).has_value())
        << name;
  }
}

// --- challenges

TEST(ChallengeRequest, RoundTrips) {
  const ChallengeRequest request{ChallengePurpose::kEnrol, "gpu-1"};
  const auto read = parse_challenge_request(bytes_of(to_json(request)));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->purpose, request.purpose);
  EXPECT_EQ(read->node, request.node);
}

TEST(ChallengeRequest, OtherPurposes_CannotBeAskedFor) {
  for (const char* purpose : {"report", "spot", "", "Enrol"}) {
    const Json json = {{"purpose", purpose}, {"node", "gpu-1"}};
    EXPECT_EQ(code_of(parse_challenge_request(bytes_of(json))), "schema-violation") << purpose;
  }
}

TEST(Challenge, RoundTrips) {
  for (const ChallengePurpose purpose : {ChallengePurpose::kEnrol, ChallengePurpose::kReport,
                                         ChallengePurpose::kSpot, ChallengePurpose::kStatement}) {
    EXPECT_EQ(challenge_purpose_from(name(purpose)), purpose);
    const Challenge challenge = sample_challenge(purpose);
    const auto read = json::get<Challenge>(to_json(challenge));
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->nonce, challenge.nonce);
    EXPECT_EQ(read->audience, challenge.audience);
    EXPECT_EQ(read->purpose, purpose);
    EXPECT_EQ(read->node, challenge.node);
    EXPECT_EQ(read->job, challenge.job);
    EXPECT_EQ(read->expires_at, challenge.expires_at);
    EXPECT_EQ(to_json(challenge).contains("job"), !challenge.job.empty());
    EXPECT_EQ(to_json(challenge).contains("node"), purpose != ChallengePurpose::kStatement);
  }
  EXPECT_EQ(code_of(challenge_purpose_from("enroll")), "invalid-parameter");
}

TEST(Challenge, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/nonce", std::string(63, 'a'), "schema-violation"},
      {"/nonce", std::string(64, 'A'), "schema-violation"},
      {"/audience", "", "schema-violation"},
      {"/audience", "two words", "schema-violation"},
      {"/purpose", "login", "schema-violation"},
      {"/node", "GPU", "schema-violation"},
      {"/job", "", "schema-violation"},
      {"/job", "0198f0a2-7c3e-4bbb-8123-456789abcdef", "schema-violation"},  // version 4
      {"/expires_at", "2026-02-30T00:00:00Z", "invalid-time"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(code_of(json::get<Challenge>(changed(to_json(sample_challenge()), place, value))),
              code)
        << place << value;
  }
}

// --- evidence

TEST(Evidence, RoundTrips) {
  Evidence evidence = sample_evidence();
  for (const bool bare : {false, true}) {
    evidence.event_log = to_bytes("log");
    if (bare) {
      evidence.collateral = Json();
      evidence.event_log.clear();
    }
    const auto read = json::get<Evidence>(to_json(evidence));
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->type, "tdx");
    EXPECT_EQ(read->quote, evidence.quote);
    EXPECT_EQ(read->event_log, evidence.event_log);
    EXPECT_EQ(read->collateral, evidence.collateral);
  }
  EXPECT_TRUE(json::get<Evidence>(changed(to_json(evidence), "/collateral", Json())));
}

TEST(Evidence, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/type", "TDX", "schema-violation"},
      {"/quote", "", "schema-violation"},
      {"/quote", "AAA", "invalid-encoding"},
      {"/quote", base64_encode(Bytes(kMaxQuoteBytes + 1)), "limit-exceeded"},
      {"/quote", base64_encode(Bytes(kMaxQuoteBytes + 2)), "schema-violation"},
      {"/event_log", "", "schema-violation"},
      {"/event_log", "AAA", "invalid-encoding"},
      {"/event_log", base64_encode(Bytes(kMaxEventLogBytes + 1)), "limit-exceeded"},
      {"/event_log", base64_encode(Bytes(kMaxEventLogBytes + 3)), "schema-violation"},
      {"/collateral", "text", "schema-violation"},
      {"/collateral", Json::object(), "schema-violation"},
      {"/collateral/tcb_info", {{"version", 3}}, "schema-violation"},
      {"/collateral/extra", "x", "unknown-member"},
      {"/collateral/tcb_info", std::string(2097153, 'x'), "schema-violation"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(code_of(json::get<Evidence>(changed(to_json(sample_evidence()), place, value))), code)
        << place;
  }
}

TEST(Evidence, LargestQuoteAndLog_AreTakenAndNoLargerOnes) {
  Evidence evidence = sample_evidence();
  evidence.quote = Bytes(kMaxQuoteBytes);
  evidence.event_log = Bytes(kMaxEventLogBytes);
  EXPECT_TRUE(json::get<Evidence>(to_json(evidence)));
  evidence.event_log.push_back(0);
  EXPECT_EQ(where_of(json::get<Evidence>(to_json(evidence))), "/event_log");
  evidence.event_log.pop_back();
  evidence.quote.push_back(0);
  EXPECT_EQ(where_of(json::get<Evidence>(to_json(evidence))), "/quote");
}

// What others say of a machine, and chains of several devices, are longer than a quote.
TEST(Evidence, OfAnotherType_MayBeLonger) {
  Evidence evidence{"example", Bytes(kMaxQuoteBytes + 1), {}, Json()};
  EXPECT_TRUE(json::get<Evidence>(to_json(evidence)));
  evidence.quote = Bytes(kMaxOtherEvidenceBytes);
  const auto read = json::get<Evidence>(to_json(evidence));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->quote.size(), kMaxOtherEvidenceBytes);
  evidence.quote.push_back(0);
  EXPECT_EQ(code_of(json::get<Evidence>(to_json(evidence))), "limit-exceeded");
  EXPECT_EQ(where_of(json::get<Evidence>(to_json(evidence))), "/quote");
  evidence.quote.resize(kMaxOtherEvidenceBytes + 3);
  EXPECT_EQ(code_of(json::get<Evidence>(to_json(evidence))), "schema-violation");
}

TEST(Evidence, CollateralBeyondTheLimit_IsRefused) {
  Evidence evidence = sample_evidence();
  for (const char* name : {"pck_crl", "tcb_info", "qe_identity"}) {
    evidence.collateral[name] = std::string(2097152, 'x');
  }
  EXPECT_EQ(code_of(json::get<Evidence>(to_json(evidence))), "limit-exceeded");
  EXPECT_EQ(where_of(json::get<Evidence>(to_json(evidence))), "/collateral");
  evidence.collateral["pck_crl"] = std::string(2097152 - 2048, 'x');
  EXPECT_TRUE(json::get<Evidence>(to_json(evidence)));
}

// --- enrolments

TEST(Enrolment, RoundTrips) {
  Enrolment enrolment = sample_enrolment();
  for (const bool measured : {true, false}) {
    if (!measured) {
      enrolment.evidence.reset();
      enrolment.request.platform.clear();
      enrolment.devices.clear();
    }
    const auto read = parse_enrolment(bytes_of(to_json(enrolment)));
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(read->request, enrolment.request);
    EXPECT_EQ(read->nonce, enrolment.nonce);
    EXPECT_EQ(read->public_key, enrolment.public_key);
    EXPECT_EQ(read->devices, enrolment.devices);
    ASSERT_EQ(read->evidence.has_value(), measured);
    EXPECT_EQ(to_json(*read), to_json(enrolment));
  }
}

TEST(Enrolment, IdentityToken_RoundTripsAndMovesTheReportData) {
  Enrolment enrolment = sample_enrolment();
  const auto before =
      enrolment_report_data(enrolment.nonce, enrolment.public_key, enrolment.request);
  enrolment.identity_token = "e30.e30.AA";
  enrolment.request.identity_token = std::string(64, 'a');
  const auto read = parse_enrolment(bytes_of(to_json(enrolment)));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(read->identity_token, "e30.e30.AA");
  EXPECT_EQ(read->request, enrolment.request);
  EXPECT_NE(enrolment_report_data(enrolment.nonce, enrolment.public_key, enrolment.request),
            before);
  for (const char* bad : {"", "a b", "e30.e30.AA\n"}) {
    Json document = to_json(enrolment);
    document["identity_token"] = bad;
    EXPECT_EQ(code_of(parse_enrolment(bytes_of(document))), "schema-violation");
  }
}

TEST(Enrolment, DevicesThatShareTheWork_HaveOneId) {
  Json document = to_json(sample_enrolment());
  document["devices"][0]["id"] = "opencl:0,2";
  const auto read = parse_enrolment(bytes_of(document));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->devices.front().id, "opencl:0,2");
}

TEST(Enrolment, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*, const char*> changes[] = {
      {"/request/purpose", "report", "schema-violation", "/request/purpose"},
      {"/request/audience", "", "schema-violation", "/request/audience"},
      {"/request/node", "a b", "schema-violation", "/request/node"},
      {"/request/platform", "0", "schema-violation", "/request/platform"},
      {"/request/platform", "AA", "schema-violation", "/request/platform"},
      {"/request/extra", 1, "unknown-member", "/request/extra"},
      {"/nonce", "00", "schema-violation", "/nonce"},
      {"/public_key", "", "schema-violation", "/public_key"},
      {"/public_key", "!!!!", "invalid-encoding", "/public_key"},
      {"/evidence", Json(), "schema-violation", "/evidence"},
      {"/evidence/type", "SNP", "schema-violation", "/evidence/type"},
      {"/evidence/quote", "AAA", "invalid-encoding", "/evidence/quote"},
      {"/devices", Json(), "schema-violation", "/devices"},
      {"/devices/0/id", "OpenCL", "schema-violation", "/devices/0/id"},
      {"/devices/0/extra", 1, "unknown-member", "/devices/0/extra"},
      {"/extra", 1, "unknown-member", "/extra"}};
  for (const auto& [place, value, code, where] : changes) {
    const auto read = parse_enrolment(bytes_of(changed(to_json(sample_enrolment()), place, value)));
    EXPECT_EQ(code_of(read), code) << place << value;
    EXPECT_EQ(where_of(read), where);
  }
}

TEST(Enrolment, MoreThan64Devices_AreRefused) {
  Enrolment enrolment = sample_enrolment();
  enrolment.devices.assign(64, test::sample_device());
  EXPECT_TRUE(parse_enrolment(bytes_of(to_json(enrolment))));
  enrolment.devices.push_back(test::sample_device());
  EXPECT_EQ(code_of(parse_enrolment(bytes_of(to_json(enrolment)))), "schema-violation");
}

TEST(Enrolment, MemberTwice_IsRefused) {
  std::string json = to_json(sample_enrolment()).dump();
  json.insert(1, "\"nonce\":\"" + text(test::sample_nonce()) + "\",");
  EXPECT_EQ(code_of(parse_enrolment(as_bytes(json))), "duplicate-key");
}

}  // namespace
}  // namespace assay
