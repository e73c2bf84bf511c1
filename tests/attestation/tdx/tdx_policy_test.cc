// SPDX-License-Identifier: Apache-2.0
// Appraisal policies, what they refuse, and what a result says.

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "attestation/tdx/td_policy.h"
#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

using testing::Options;
using testing::valid_v4;
using testing::valid_v5;
using testing::verdict;

AppraisalPolicy policy_of(const std::string& text) {
  return parse_appraisal_policy(parse_json(text).value()).value();
}

std::string under(const SimulationSpec& spec, const std::string& policy) {
  Options options;
  options.policy = policy_of(policy);
  return verdict(spec, options);
}

TEST(TdxPolicy, Defaults_AreThoseOfTheDocument) {
  const Json defaults = parse_json(R"({"accept_tcb_status":["UpToDate"],
    "min_tcb_evaluation_data_number":0,"allow_evaluation_number_mismatch":true,
    "rejected_advisories":[],"tcb_grace_seconds":0,"allow_debug":false,
    "require_sept_ve_disable":true,"allow_service_td":false,
    "reference_values":{"mrtd":[],"mrseam":[],"mrconfigid":[],"mrowner":[],"mrownerconfig":[],
    "rtmr0":[],"rtmr1":[],"rtmr2":[],"rtmr3":[]},"platform_allow_list":[],
    "require_event_log":false,"require_event_log_rtmr3":false})")
                            .value();
  EXPECT_EQ(to_json(policy_of("{}")), defaults);
  EXPECT_EQ(to_json(parse_appraisal_policy(defaults).value()), defaults);
}

TEST(TdxPolicy, Malformed_IsRefused) {
  const std::string long_hex(96, 'a');
  for (const std::string text : {R"([])",
                                 R"({"acept_tcb_status":["UpToDate"]})",
                                 R"({"accept_tcb_status":[]})",
                                 R"({"accept_tcb_status":"UpToDate"})",
                                 R"({"accept_tcb_status":["Revoked"]})",
                                 R"({"accept_tcb_status":["Fine"]})",
                                 R"({"allow_debug":1})",
                                 R"({"allow_debug":null})",
                                 R"({"tcb_grace_seconds":-1})",
                                 R"({"tcb_grace_seconds":1.5})",
                                 R"({"min_tcb_evaluation_data_number":"17"})",
                                 R"({"rejected_advisories":{}})",
                                 R"({"reference_values":[]})",
                                 R"({"reference_values":{"rtmr4":[]}})",
                                 R"({"reference_values":{"mrtd":["00"]}})",
                                 R"({"reference_values":{"mrtd":null}})",
                                 R"({"reference_values":{"mrtd":""}})",
                                 R"({"platform_allow_list":["00"]})",
                                 R"({"require_event_log":"no"})",
                                 R"({"rejected_advisories":[7]})",
                                 R"({"platform_allow_list":["zz"]})"}) {
    EXPECT_FALSE(parse_appraisal_policy(parse_json(text).value()).has_value()) << text;
  }
  EXPECT_TRUE(parse_appraisal_policy(
                  parse_json(R"({"reference_values":{"mrtd":[")" + long_hex + R"("]}})").value())
                  .has_value());
}

TEST(TdxPolicy, WithValues_IsWrittenAsItWasRead) {
  Json policy = to_json(AppraisalPolicy{});
  policy["reference_values"]["rtmr1"] = {std::string(96, 'a'), std::string(96, 'b')};
  policy["platform_allow_list"] = {std::string(32, 'c')};
  policy["accept_tcb_status"] = {"UpToDate", "OutOfDate"};
  policy["rejected_advisories"] = {"INTEL-SA-00001"};
  EXPECT_EQ(to_json(parse_appraisal_policy(policy).value()), policy);
}

TEST(TdxPolicy, Debug_NeedsPermission) {
  SimulationSpec spec = valid_v4();
  spec.quote.report.tdattributes[0] = 1;
  EXPECT_EQ(verdict(spec), "TD_DEBUG_ENABLED");
  EXPECT_EQ(under(spec, R"({"allow_debug":true})"), "OK:UpToDate");
}

TEST(TdxPolicy, ReservedAttributes_AreNeverAllowed) {
  for (int bit = 1; bit < 8; ++bit) {
    SimulationSpec spec = valid_v4();
    spec.quote.report.tdattributes[0] = static_cast<std::uint8_t>(1 << bit);
    EXPECT_EQ(under(spec, R"({"allow_debug":true})"), "TD_ATTRIBUTES_TUD_RESERVED") << bit;
  }
  SimulationSpec spec = valid_v4();
  spec.quote.report.tdattributes[5] = 1;
  EXPECT_EQ(verdict(spec), "TD_ATTRIBUTES_RESERVED");
  spec = valid_v4();
  spec.quote.report.tdattributes = {0, 0, 1, 0xf8, 0, 0, 0, 0xc0};
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
}

TEST(TdxPolicy, SeptVeDisable_IsNeeded) {
  SimulationSpec spec = valid_v4();
  spec.quote.report.tdattributes = {};
  EXPECT_EQ(verdict(spec), "TD_SEPT_VE_DISABLE_NOT_SET");
  EXPECT_EQ(under(spec, R"({"require_sept_ve_disable":false})"), "OK:UpToDate");
}

TEST(TdxPolicy, XfamWithoutItsFixedBits_IsRefused) {
  SimulationSpec spec = valid_v4();
  spec.quote.report.xfam = {0xe6};
  EXPECT_EQ(verdict(spec), "TD_XFAM_INVALID");
}

TEST(TdxPolicy, ServiceTd_NeedsPermission) {
  SimulationSpec spec = valid_v5();
  spec.quote.report.mrservicetd[47] = 1;
  EXPECT_EQ(verdict(spec), "TD_SERVICE_TD_PRESENT");
  EXPECT_EQ(under(spec, R"({"allow_service_td":true})"), "OK:UpToDate");
  spec = valid_v5();
  spec.quote.body_type = BodyType::kTd15Ex;
  spec.quote.report.current_servicetd_hash[0] = 1;
  EXPECT_EQ(verdict(spec), "TD_SERVICE_TD_PRESENT");
  spec.quote.report.current_servicetd_hash[0] = 0;
  spec.quote.report.init_servicetd_hash[0] = 1;
  EXPECT_EQ(verdict(spec), "TD_SERVICE_TD_PRESENT");
}

TEST(TdxReferences, EachRegister_IsCompared) {
  const SimulationSpec spec = valid_v4();
  const std::string other(96, '0');
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    const auto reference = static_cast<Reference>(i);
    const std::string member(name(reference));
    const std::string actual = hex_encode(value_of(spec.quote.report, reference));
    const std::string wrong = actual == other ? std::string(96, '1') : other;
    const auto list = [&](const std::string& values) {
      return R"({"reference_values":{")" + member + R"(":[)" + values + "]}}";
    };
    EXPECT_EQ(under(spec, list('"' + wrong + "\",\"" + actual + '"')), "OK:UpToDate") << member;
    std::string error = "TD_" + member + "_MISMATCH";
    std::ranges::transform(error, error.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    EXPECT_EQ(under(spec, list('"' + wrong + '"')), error);
  }
}

TEST(TdxReferences, Missing_AreSaidToBeMissing) {
  AppraisalPolicy policy;
  for (const Reference reference :
       {Reference::kMrtd, Reference::kRtmr0, Reference::kRtmr1, Reference::kRtmr2}) {
    const auto outcome = require_reference_values(policy);
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(code(outcome.error()), "REFERENCE_VALUES_MISSING");
    policy.reference_values[std::to_underlying(reference)].push_back(Measurement{});
  }
  EXPECT_TRUE(require_reference_values(policy).has_value());
}

TEST(TdxReferences, EmptyLists_AreNamedInTheResult) {
  Options options;
  options.policy.reference_values[std::to_underlying(Reference::kMrtd)] = {
      valid_v4().quote.report.mrtd};
  const AppraisalResult result = testing::run(simulate(valid_v4()), options);
  EXPECT_EQ(result.not_constrained,
            (std::vector<std::string>{"mrseam", "mrconfigid", "mrowner", "mrownerconfig", "rtmr0",
                                      "rtmr1", "rtmr2", "rtmr3", "platform_allow_list"}));
}

TEST(TdxPlatforms, AllowList_TakesPpidOrInstance) {
  const SimulationSpec spec = valid_v4();
  const auto list = [](ByteView id) {
    return R"({"platform_allow_list":[")" + hex_encode(id) + "\"]}";
  };
  EXPECT_EQ(under(spec, list(spec.platform.ppid)), "OK:UpToDate");
  EXPECT_EQ(under(spec, list(*spec.platform.platform_instance_id)), "OK:UpToDate");
  EXPECT_EQ(under(spec, list(Bytes(16, 7))), "PLATFORM_NOT_ALLOWED");
  SimulationSpec without = spec;
  without.platform.platform_instance_id.reset();
  EXPECT_EQ(under(without, list(spec.platform.ppid)), "OK:UpToDate");
  EXPECT_EQ(under(without, list(*spec.platform.platform_instance_id)), "PLATFORM_NOT_ALLOWED");
  EXPECT_TRUE(
      to_json(testing::run(simulate(without)))["platform"]["platform_instance_id"].is_null());
}

TEST(TdxAdvisories, Rejected_AreNamed) {
  SimulationSpec spec = valid_v4();
  spec.platform.pcesvn = 11;
  EXPECT_EQ(under(spec, R"({"accept_tcb_status":["OutOfDate"]})"), "OK:OutOfDate");
  EXPECT_EQ(under(spec, R"({"accept_tcb_status":["OutOfDate"],
                            "rejected_advisories":["INTEL-SA-00001"]})"),
            "TCB_ADVISORY_REJECTED:INTEL-SA-00001");
}

TEST(TdxGrace, OutOfDate_IsAcceptedUntilItsEnd) {
  SimulationSpec spec = valid_v4();
  spec.platform.pcesvn = 11;
  const Timestamp date = parse_rfc3339("2024-03-13T00:00:00Z").value();
  const auto needed =
      std::chrono::duration_cast<std::chrono::seconds>(testing::now() - date).count();
  const auto grace = [](std::int64_t seconds) {
    return R"({"tcb_grace_seconds":)" + std::to_string(seconds) + "}";
  };
  EXPECT_EQ(under(spec, grace(needed)), "OK:OutOfDate");
  EXPECT_EQ(under(spec, grace(needed - 1)), "TCB_STATUS_NOT_ACCEPTED:OutOfDate");
  spec.platform.components[7] = 4;
  EXPECT_EQ(under(spec, grace(2147483647)), "TCB_REVOKED");
}

TEST(TdxGrace, ConfigurationNeeded_IsNotForgiven) {
  SimulationSpec spec = valid_v4();
  spec.tcb_info["tcbLevels"][0]["tcbStatus"] = "OutOfDateConfigurationNeeded";
  EXPECT_EQ(under(spec, R"({"tcb_grace_seconds":2147483647})"),
            "TCB_STATUS_NOT_ACCEPTED:OutOfDateConfigurationNeeded");
  EXPECT_EQ(under(spec, R"({"tcb_grace_seconds":2147483647,
                            "accept_tcb_status":["UpToDate","ConfigurationNeeded"]})"),
            "OK:OutOfDateConfigurationNeeded");
}

TEST(TdxReportData, MustBeExact) {
  SimulationSpec spec = valid_v4();
  spec.quote.report.report_data.fill(0xab);
  Options options;
  options.report_data = ReportDataExpectation::exactly(spec.quote.report.report_data);
  EXPECT_EQ(verdict(spec, options), "OK:UpToDate");
  EXPECT_TRUE(testing::run(simulate(spec), options).report_data_bound);
  ReportData other = spec.quote.report.report_data;
  other.back() ^= 1;
  options.report_data = ReportDataExpectation::exactly(other);
  EXPECT_EQ(verdict(spec, options), "REPORT_DATA_MISMATCH");
}

TEST(TdxReportData, NotRequested_IsSaidInTheResult) {
  const AppraisalResult result = testing::run(simulate(valid_v4()));
  EXPECT_TRUE(result.accepted);
  EXPECT_FALSE(result.report_data_bound);
  const auto check = std::ranges::find(result.checks, "report-data", &Check::id);
  ASSERT_NE(check, result.checks.end());
  EXPECT_EQ(check->outcome, CheckOutcome::kNotConstrained);
}

TEST(TdxResult, Accepted_HasEverything) {
  const SimulationSpec spec = valid_v5();
  const AppraisalResult result = testing::run(simulate(spec));
  const Json json = to_json(result);
  EXPECT_EQ(json["verdict"], "accepted");
  EXPECT_TRUE(json["error"].is_null());
  EXPECT_EQ(json["tcb"]["status"], "UpToDate");
  EXPECT_EQ(json["tcb"]["evaluation_number"], 18);
  EXPECT_EQ(json["measurements"]["mrtd"], hex_encode(spec.quote.report.mrtd));
  EXPECT_EQ(json["measurements"]["rtmr3"], hex_encode(spec.quote.report.rtmr[3]));
  EXPECT_EQ(json["platform"]["fmspc"], hex_encode(spec.platform.fmspc));
  EXPECT_EQ(json["quote_version"], 5);
  EXPECT_EQ(json["report"], "td-1.5");
  EXPECT_EQ(json["measurements"]["mrservicetd"], std::string(96, '0'));
  EXPECT_EQ(json["anchor"], TrustAnchor::from_der(simulate(spec).root)->digest().text());
  EXPECT_EQ(json["anchor_is_intel"], false);
  EXPECT_EQ(json["collateral"], digest_of(simulate(spec).collateral).text());
  std::set<std::string> ids;
  for (const Json& check : json["checks"]) {
    EXPECT_NE(check["outcome"], "fail");
    EXPECT_TRUE(ids.insert(check["id"]).second) << check["id"];
  }
  EXPECT_EQ(ids.size(), 42U);
}

TEST(TdxResult, MembersThatTheReportLacks_AreNull) {
  const Json json = to_json(testing::run(simulate(valid_v4())));
  EXPECT_EQ(json["report"], "td-1.0");
  EXPECT_TRUE(json["measurements"]["mrservicetd"].is_null());
  EXPECT_TRUE(json["measurements"]["tee_tcb_svn2"].is_null());
}

TEST(TdxResult, ExtendedReport_IsNamed) {
  SimulationSpec spec = valid_v5();
  spec.quote.body_type = BodyType::kTd15Ex;
  EXPECT_EQ(to_json(testing::run(simulate(spec)))["report"], "td-1.5-extended");
}

// A module without a major version has no level of its own.
TEST(TdxResult, ModuleWithoutLevels_IsNull) {
  SimulationSpec spec = valid_v4();
  spec.quote.report.tee_tcb_svn[1] = 0;
  const Json json = to_json(testing::run(simulate(spec)));
  EXPECT_EQ(json["tcb"]["status"], "UpToDate");
  EXPECT_TRUE(json["tcb"]["module"].is_null());
}

TEST(TdxResult, RefusedStatus_IsShownBesideAllThatAreAccepted) {
  SimulationSpec spec = valid_v4();
  spec.platform.pcesvn = 11;
  Options options;
  options.policy = policy_of(R"({"accept_tcb_status":["UpToDate","SWHardeningNeeded"]})");
  const Json json = to_json(testing::run(simulate(spec), options));
  EXPECT_EQ(json["checks"].back()["expected"], "UpToDate, SWHardeningNeeded");
  EXPECT_EQ(json["checks"].back()["actual"], "OutOfDate");
}

TEST(TdxResult, Rejected_ShowsTheFailedCheckLast) {
  SimulationSpec spec = valid_v4();
  spec.tcb_info["fmspc"] = "00906ED50000";
  const Json json = to_json(testing::run(simulate(spec)));
  EXPECT_EQ(json["verdict"], "rejected");
  EXPECT_EQ(json["error"], "FMSPC_MISMATCH");
  EXPECT_TRUE(json["tcb"]["status"].is_null());
  EXPECT_TRUE(json["measurements"].empty());  // nothing is known that the quote's signature covers
  const Json& last = json["checks"].back();
  EXPECT_EQ(last["id"], "fmspc");
  EXPECT_EQ(last["outcome"], "fail");
  EXPECT_EQ(last["expected"], "00906ed50000");
  EXPECT_EQ(last["actual"], hex_encode(spec.platform.fmspc));
}

TEST(TdxResult, RefusedForItsStatus_StillShowsWhatIsKnown) {
  SimulationSpec spec = valid_v4();
  spec.platform.pcesvn = 11;
  const Json json = to_json(testing::run(simulate(spec)));
  EXPECT_EQ(json["error"], "TCB_STATUS_NOT_ACCEPTED:OutOfDate");
  EXPECT_EQ(json["tcb"]["status"], "OutOfDate");
  EXPECT_EQ(json["tcb"]["shortfall"][0]["component"], "pcesvn");
  EXPECT_FALSE(json["measurements"].empty());
}

TEST(TdxErrors, Names_AreUniqueAndUpperCase) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < tdx_error_count(); ++i) {
    const auto error = static_cast<TdxError>(i);
    EXPECT_TRUE(names.insert(name(error)).second) << name(error);
    EXPECT_EQ(name(error).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
              std::string_view::npos)
        << name(error);
    EXPECT_FALSE(meaning(error).empty());
  }
}

}  // namespace
}  // namespace assay::attestation::tdx
