// SPDX-License-Identifier: Apache-2.0
// What a service learns from evidence: verdict, facts, high-water marks, trustworthiness.
#include <filesystem>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "schemas/core/sha.h"
#include "tests/attestation/evidence.h"
#include "tests/attestation/tdx/shared_vectors.h"

namespace assay::attestation {
namespace {

using test::appraise_now;
using test::evidence_of;
using test::evidence_spec;
using test::valid_appraisal;
using test::valid_evidence;

// "OK" or the code of the evidence.
std::string verdict(const Evidence& evidence, const Appraisal& appraisal,
                    Purpose purpose = Purpose::kEnrol) {
  const auto appraised = appraise_now(evidence, appraisal, purpose);
  if (!appraised) {
    return to_string(appraised.error());
  }
  EXPECT_EQ(appraised->accepted, appraised->error.empty());
  EXPECT_EQ(appraised->result["verdict"], appraised->accepted ? "accepted" : "rejected");
  EXPECT_EQ(appraised->result["error"],
            appraised->accepted ? Json(nullptr) : Json(appraised->error));
  return appraised->accepted ? "OK" : appraised->error;
}

Error refusal(const Evidence& evidence, const Appraisal& appraisal) {
  auto appraised = appraise_now(evidence, appraisal);
  EXPECT_FALSE(appraised.has_value());
  return appraised ? Error{ErrorCode::kInternal, "accepted", ""} : appraised.error();
}

Json check_named(const Json& result, const std::string& id) {
  for (const Json& check : result["checks"]) {
    if (check["id"] == id) {
      return check;
    }
  }
  return nullptr;
}

TEST(Appraise, ValidEvidence_IsAcceptedWithItsFacts) {
  const auto spec = evidence_spec();
  const auto simulation = tdx::simulate(spec);
  const AppraisedEvidence appraised = appraise_now(valid_evidence(), valid_appraisal()).value();
  EXPECT_TRUE(appraised.accepted) << appraised.error;
  EXPECT_EQ(appraised.type, "tdx");
  EXPECT_EQ(appraised.tcb_status, "UpToDate");
  EXPECT_EQ(appraised.platform, hex_encode(spec.platform.ppid));
  EXPECT_EQ(appraised.anchor, Anchor::root(sha256(simulation.root)));
  EXPECT_FALSE(appraised.anchor_is_vendor);
  EXPECT_TRUE(appraised.has_reference_values);
  EXPECT_EQ(appraised.collateral, digest_of(simulation.collateral));
  EXPECT_EQ(to_rfc3339(appraised.valid_until.value()), "2026-03-30T12:00:00.000Z");
  EXPECT_EQ(appraised.result["report_data_bound"], true);
  EXPECT_EQ(check_named(appraised.result, "reference-values")["outcome"], "pass");
  EXPECT_EQ(check_named(appraised.result, "platform")["outcome"], "not-constrained");
}

TEST(Appraise, OtherReportData_IsRefused) {
  auto spec = evidence_spec();
  spec.quote.report.report_data[63] ^= 1;
  EXPECT_EQ(verdict(evidence_of(spec), valid_appraisal()), "REPORT_DATA_MISMATCH");
}

TEST(Appraise, AnchorThatIsNotConfigured_IsRefused) {
  Appraisal appraisal = valid_appraisal();
  appraisal.dangerous_anchors.clear();
  EXPECT_NE(verdict(valid_evidence(), appraisal), "OK");
}

TEST(Appraise, ReferenceValuesMissing_RefusesEnrolmentAlone) {
  for (const char* name : {"mrtd", "rtmr0", "rtmr1", "rtmr2"}) {
    Appraisal appraisal = valid_appraisal();
    appraisal.policy["reference_values"].erase(name);
    EXPECT_EQ(verdict(valid_evidence(), appraisal), "REFERENCE_VALUES_MISSING") << name;
    EXPECT_EQ(verdict(valid_evidence(), appraisal, Purpose::kInspect), "OK") << name;
    EXPECT_FALSE(appraise_now(valid_evidence(), appraisal)->has_reference_values) << name;
  }
}

TEST(Appraise, ReferenceValuesMissing_CanBeWaived) {
  Appraisal appraisal = valid_appraisal();
  appraisal.policy = Json::object();
  EXPECT_EQ(verdict(valid_evidence(), appraisal), "REFERENCE_VALUES_MISSING");
  appraisal.dangerous_allow_missing_reference_values = true;
  const auto appraised = appraise_now(valid_evidence(), appraisal).value();
  EXPECT_TRUE(appraised.accepted);
  EXPECT_FALSE(appraised.has_reference_values);
  EXPECT_EQ(check_named(appraised.result, "reference-values")["outcome"], "not-constrained");
}

TEST(Appraise, ReferenceValuesMissing_DoesNotHideAnotherReason) {
  Appraisal appraisal = valid_appraisal();
  appraisal.policy = Json::object();
  auto spec = evidence_spec();
  spec.quote.report.tdattributes[0] = 1;
  EXPECT_EQ(verdict(evidence_of(spec), appraisal), "TD_DEBUG_ENABLED");
}

TEST(Appraise, OtherMeasurement_IsRefused) {
  auto spec = evidence_spec();
  spec.quote.report.rtmr[2][0] ^= 1;
  EXPECT_EQ(verdict(evidence_of(spec), valid_appraisal()), "TD_RTMR2_MISMATCH");
}

TEST(Appraise, NothingToAppraise_IsAnError) {
  Evidence evidence = valid_evidence();
  evidence.type = "sev-snp";
  EXPECT_EQ(refusal(evidence, valid_appraisal()).code, ErrorCode::kEvidenceTypeUnknown);

  Appraisal appraisal = valid_appraisal();
  appraisal.evidence_type = "sev-snp";
  EXPECT_EQ(refusal(valid_evidence(), appraisal).code, ErrorCode::kEvidenceTypeUnknown);

  evidence = valid_evidence();
  evidence.collateral = nullptr;
  EXPECT_EQ(refusal(evidence, valid_appraisal()).code, ErrorCode::kCollateralMissing);
}

TEST(Appraise, ShapeOfInputs_IsNamedWithItsPlace) {
  Evidence evidence = valid_evidence();
  evidence.collateral.erase("pck_crl");
  Error error = refusal(evidence, valid_appraisal());
  EXPECT_EQ(error.code, ErrorCode::kSchemaViolation);
  EXPECT_EQ(error.where, "/collateral/pck_crl");

  Appraisal appraisal = valid_appraisal();
  appraisal.policy["accept_tcb_status"] = Json::array();
  error = refusal(valid_evidence(), appraisal);
  EXPECT_EQ(error.code, ErrorCode::kSchemaViolation);
  EXPECT_EQ(error.where, "/policy/accept_tcb_status");
}

TEST(CheckAppraisal, RefusesWhatCouldNotBeUsed) {
  EXPECT_TRUE(built_in_verifiers().check(valid_appraisal()));
  Appraisal appraisal = valid_appraisal();
  appraisal.dangerous_anchors.push_back(to_bytes("no certificate"));
  EXPECT_EQ(built_in_verifiers().check(appraisal).error().code, ErrorCode::kInvalidEncoding);
  EXPECT_EQ(built_in_verifiers().check(appraisal).error().where, "/dangerous_anchors/1");
  appraisal = valid_appraisal();
  appraisal.policy["unknown"] = true;
  EXPECT_EQ(built_in_verifiers().check(appraisal).error().code, ErrorCode::kUnknownMember);
  appraisal = valid_appraisal();
  appraisal.evidence_type = "";
  EXPECT_EQ(built_in_verifiers().check(appraisal).error().code, ErrorCode::kEvidenceTypeUnknown);
}

TEST(DefaultAppraisal, TrustsTheVendorAndNothingElse) {
  const Appraisal appraisal = default_appraisal("tdx");
  EXPECT_TRUE(built_in_verifiers().check(appraisal));
  EXPECT_TRUE(appraisal.dangerous_anchors.empty());
  EXPECT_FALSE(appraisal.dangerous_allow_missing_reference_values);
  EXPECT_EQ(appraisal.policy["accept_tcb_status"], Json::array({"UpToDate"}));
  EXPECT_EQ(default_appraisal("mock").policy, Json::object());
}

struct TrustCase {
  std::string name;
  std::function<void(tdx::SimulationSpec&, Appraisal&)> change;
  Trustworthiness expected;  // identity, configuration, executables, hardware, runtime
};

class TrustworthinessOf : public ::testing::TestWithParam<TrustCase> {};

TEST_P(TrustworthinessOf, Evidence_FollowsItsChecks) {
  auto spec = evidence_spec();
  Appraisal appraisal = valid_appraisal();
  GetParam().change(spec, appraisal);
  const auto appraised = appraise_now(evidence_of(spec), appraisal, Purpose::kInspect).value();
  EXPECT_EQ(appraised.trustworthiness, GetParam().expected) << appraised.error;
}

void set_level(tdx::SimulationSpec& spec, const char* status) {
  spec.tcb_info["tcbLevels"][0]["tcbStatus"] = status;
}

// A report that can name service TDs.
void make_extended(tdx::SimulationSpec& spec) {
  spec.quote.version = 5;
  spec.quote.body_type = tdx::BodyType::kTd15Ex;
}

// One of its three places.
template <tdx::Measurement tdx::TdReport::* Member>
void allow_service_td(tdx::SimulationSpec& spec, Appraisal& appraisal) {
  make_extended(spec);
  (spec.quote.report.*Member)[47] = 1;
  appraisal.policy["allow_service_td"] = true;
}

const TrustCase kTrustCases[] = {
    {"Simulated", [](auto&, auto&) {}, {0, 2, 3, 32, 2}},
    {"KnownPlatform",
     [](auto& spec, auto& appraisal) {
       appraisal.policy["platform_allow_list"] = {hex_encode(spec.platform.ppid)};
     },
     {2, 2, 3, 32, 2}},
    {"UnknownPlatform",
     [](auto&, auto& appraisal) {
       appraisal.policy["platform_allow_list"] = {std::string(32, 'a')};
     },
     {97, 2, 3, 32, 2}},
    {"NoReferences",
     [](auto&, auto& appraisal) { appraisal.policy["reference_values"].erase("rtmr1"); },
     {0, 2, 33, 32, 2}},
    {"OtherMeasurement",
     [](auto& spec, auto&) { spec.quote.report.mrtd[0] ^= 1; },
     {0, 2, 96, 32, 2}},
    {"Debug", [](auto& spec, auto&) { spec.quote.report.tdattributes[0] = 1; }, {0, 96, 0, 32, 96}},
    {"DebugAllowed",
     [](auto& spec, auto& appraisal) {
       spec.quote.report.tdattributes[0] = 1;
       appraisal.policy["allow_debug"] = true;
     },
     {0, 32, 3, 32, 32}},
    {"SeptVeAllowed",
     [](auto& spec, auto& appraisal) {
       spec.quote.report.tdattributes[3] = 0;
       appraisal.policy["require_sept_ve_disable"] = false;
     },
     {0, 32, 3, 32, 2}},
    {"NoServiceTd", [](auto& spec, auto&) { make_extended(spec); }, {0, 2, 3, 32, 2}},
    {"ServiceTd",
     [](auto& spec, auto&) {
       make_extended(spec);
       spec.quote.report.mrservicetd[0] = 1;
     },
     {0, 96, 0, 32, 2}},
    {"ServiceTdAllowed", allow_service_td<&tdx::TdReport::mrservicetd>, {0, 32, 3, 32, 2}},
    {"ServiceTdAtLaunchAllowed",
     allow_service_td<&tdx::TdReport::init_servicetd_hash>,
     {0, 32, 3, 32, 2}},
    {"ServiceTdNowAllowed",
     allow_service_td<&tdx::TdReport::current_servicetd_hash>,
     {0, 32, 3, 32, 2}},
    {"Revoked", [](auto& spec, auto&) { set_level(spec, "Revoked"); }, {0, 0, 0, 96, 2}},
    {"OutOfDateConfiguration",
     [](auto& spec, auto&) { set_level(spec, "OutOfDateConfigurationNeeded"); },
     {0, 2, 3, 96, 2}},
    {"OutOfDate", [](auto& spec, auto&) { set_level(spec, "OutOfDate"); }, {0, 2, 3, 96, 2}},
    {"OutOfDateAccepted",
     [](auto& spec, auto& appraisal) {
       set_level(spec, "OutOfDate");
       appraisal.policy["accept_tcb_status"] = {"OutOfDate"};
     },
     {0, 2, 3, 32, 2}},
    {"NoLevel", [](auto& spec, auto&) { spec.platform.components = {}; }, {0, 0, 0, 97, 2}},
    {"NotSigned",
     [](auto& spec, auto&) { spec.quote.quote_signer = "somebody"; },
     {0, 0, 0, 99, 0}},
};

INSTANTIATE_TEST_SUITE_P(Cases, TrustworthinessOf, ::testing::ValuesIn(kTrustCases),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace assay::attestation
