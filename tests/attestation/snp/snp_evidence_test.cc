// SPDX-License-Identifier: Apache-2.0
// Verdict, facts and trustworthiness that a service gets of SEV-SNP evidence; collateral as state.

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "attestation/collateral_set.h"
#include "attestation/verifier_registry.h"
#include "schemas/core/sha.h"
#include "tests/attestation/snp/strict.h"

namespace assay::attestation {
namespace {

using snp::testing::test_seed;
using snp::testing::test_time;

ReportDataBytes expected_data() {
  ReportDataBytes data{};
  data.fill(0x5d);
  return data;
}

snp::SnpSimulationSpec sound() {
  auto spec = snp::valid_snp_simulation(test_seed(), test_time());
  spec.report.report_data = expected_data();
  return spec;
}

Evidence evidence_of(const snp::SnpSimulationSpec& spec) {
  const snp::SnpSimulation made = snp::simulate(spec);
  return {std::string(kSnpEvidence), made.evidence, {}, to_json(made.collateral)};
}

Appraisal appraisal_of(const snp::SnpSimulationSpec& spec) {
  Appraisal appraisal;
  appraisal.evidence_type = kSnpEvidence;
  appraisal.policy = {
      {"reference_values", {{"measurement", {hex_encode(spec.report.measurement)}}}},
      {"min_tcb",
       {{std::string(name(spec.generation)),
         {{"reported", to_json(spec.leaf_tcb, spec.generation)}}}}}};
  appraisal.dangerous_anchors = {snp::simulate(spec).root};
  return appraisal;
}

// "OK", the code of the evidence, or the error that nothing could be decided.
std::string verdict(const Evidence& evidence, const Appraisal& appraisal,
                    Purpose purpose = Purpose::kEnrol) {
  const auto appraised =
      built_in_verifiers().appraise(evidence, appraisal, purpose, expected_data(), test_time());
  if (!appraised) {
    return std::string(info(appraised.error().code).code) + " " + appraised.error().where;
  }
  EXPECT_EQ(appraised->accepted, appraised->error.empty());
  EXPECT_EQ(appraised->result["verdict"], appraised->accepted ? "accepted" : "rejected");
  return appraised->accepted ? "OK" : appraised->error;
}

TEST(SnpEvidence, SoundEvidence_IsAcceptedWithItsFacts) {
  const auto spec = sound();
  const auto appraised = built_in_verifiers()
                             .appraise(evidence_of(spec), appraisal_of(spec), Purpose::kEnrol,
                                       expected_data(), test_time())
                             .value();
  EXPECT_TRUE(appraised.accepted) << appraised.error;
  EXPECT_EQ(appraised.type, "sev-snp");
  EXPECT_EQ(appraised.tcb_status, "UpToDate");
  EXPECT_EQ(appraised.platform, plugin_platform("sev-snp", spec.report.chip_id));
  EXPECT_EQ(appraised.anchor, Anchor::root(sha256(snp::simulate(spec).root)));
  EXPECT_FALSE(appraised.anchor_is_vendor);
  EXPECT_TRUE(appraised.has_reference_values);
  EXPECT_EQ(appraised.valid_until, spec.crl.next_update);
  EXPECT_TRUE(appraised.collateral);
  EXPECT_EQ(appraised.matched,
            (std::map<std::string, std::vector<std::string>>{{"measurement", {"appraisal"}}}));
  EXPECT_FALSE(appraised.boot);
  // A simulated chip is no hardware: 32. The image that was booted is known: 3.
  EXPECT_EQ(appraised.trustworthiness, (Trustworthiness{0, 2, 3, 32, 2}));
}

struct SnpCase {
  const char* name;
  const char* expected;
  std::function<void(snp::SnpSimulationSpec&)> spec;
  std::function<void(Evidence&)> evidence;
  std::function<void(Appraisal&)> appraisal;
  Purpose purpose = Purpose::kEnrol;
};

// long-function: one table of changes.
TEST(SnpEvidence, EachChangeHasItsVerdict) {
  const std::vector<SnpCase> cases = {
      {"sound", "OK", {}, {}, {}},
      {"report data",
       "REPORT_DATA_MISMATCH",
       [](auto& s) { s.report.report_data[63] ^= 1; },
       {},
       {}},
      {"debug",
       "GUEST_DEBUG",
       [](auto& s) { s.report.policy |= snp::guest_policy::kDebug; },
       {},
       {}},
      {"no reference values",
       "REFERENCE_VALUES_MISSING",
       {},
       {},
       [](Appraisal& a) { a.policy.erase("reference_values"); }},
      {"none for a stage",
       "REFERENCE_VALUES_MISSING",
       {},
       {},
       [](Appraisal& a) { a.policy.erase("reference_values"); },
       Purpose::kStage},
      {"none, to look",
       "OK",
       {},
       {},
       [](Appraisal& a) { a.policy = Json::object(); },
       Purpose::kInspect},
      {"none, waived",
       "OK",
       {},
       {},
       [](Appraisal& a) {
         a.policy.erase("reference_values");
         a.dangerous_allow_missing_reference_values = true;
       }},
      {"no minimum", "TCB_FLOOR_MISSING", {}, {}, [](Appraisal& a) { a.policy.erase("min_tcb"); }},
      {"a minimum that asks for nothing",
       "TCB_FLOOR_MISSING",
       {},
       {},
       [](Appraisal& a) { a.policy["min_tcb"]["milan"]["reported"] = Json::object(); }},
      {"no minimum, waived",
       "OK",
       {},
       {},
       [](Appraisal& a) {
         a.policy.erase("min_tcb");
         a.policy["dangerous_allow_missing_min_tcb"] = true;
       }},
      {"no collateral",
       "collateral-missing /collateral",
       {},
       [](Evidence& e) { e.collateral = nullptr; },
       {}},
      {"no collateral, waived",
       "OK",
       {},
       [](Evidence& e) { e.collateral = nullptr; },
       [](Appraisal& a) { a.policy["dangerous_allow_missing_crl"] = true; }},
      {"collateral of TDX",
       "unknown-member /collateral/tcb_info",
       {},
       [](Evidence& e) { e.collateral = {{"tcb_info", "{}"}}; },
       {}},
      {"CRL in capitals",
       "schema-violation /collateral/crl",
       {},
       [](Evidence& e) { e.collateral["crl"] = "30AA"; },
       {}},
      {"an event log",
       "schema-violation /event_log",
       {},
       [](Evidence& e) { e.event_log = Bytes(4); },
       {}},
      {"another root", "CRL_SIGNATURE", {}, {}, [](Appraisal& a) { a.dangerous_anchors.clear(); }},
      {"an anchor that is none",
       "malformed-certificate /dangerous_anchors/0",
       {},
       {},
       [](Appraisal& a) { a.dangerous_anchors = {Bytes(9)}; }},
      {"unknown member",
       "unknown-member /policy/allow_everything",
       {},
       {},
       [](Appraisal& a) { a.policy["allow_everything"] = true; }},
      {"media type of another",
       "evidence-type-unknown /media_type",
       {},
       [](Evidence& e) { e.media_type = "application/vnd.assay.tdx-quote"; },
       {}},
      {"own media type",
       "OK",
       {},
       [](Evidence& e) { e.media_type = "application/vnd.assay.sev-snp-report"; },
       {}},
      {"nothing", "REPORT_TRUNCATED", {}, [](Evidence& e) { e.quote = Bytes(1); }, {}},
  };
  for (const SnpCase& one : cases) {
    auto spec = sound();
    if (one.spec) {
      one.spec(spec);
    }
    Evidence evidence = evidence_of(spec);
    Appraisal appraisal = appraisal_of(sound());
    if (one.evidence) {
      one.evidence(evidence);
    }
    if (one.appraisal) {
      one.appraisal(appraisal);
    }
    EXPECT_EQ(verdict(evidence, appraisal, one.purpose), one.expected) << one.name;
  }
}

TEST(SnpEvidence, DefaultPolicyIsReadAsItIsWritten) {
  const Appraisal appraisal = default_appraisal(kSnpEvidence);
  EXPECT_TRUE(built_in_verifiers().check(appraisal));
  EXPECT_EQ(appraisal.policy["allow_debug"], false);
  EXPECT_EQ(appraisal.policy["max_vmpl"], 0);
  EXPECT_EQ(appraisal.policy["dangerous_allow_missing_crl"], false);
}

TEST(SnpEvidence, ImportedSetsCount_AndStayConstrained) {
  const auto spec = sound();
  Appraisal appraisal = appraisal_of(spec);
  appraisal.policy.erase("reference_values");
  appraisal.imported = {
      {"acme/image@2:snp#0", {{"measurement", {hex_encode(spec.report.measurement)}}}, {}, {}}};
  const auto appraised = built_in_verifiers().appraise(
      evidence_of(spec), appraisal, Purpose::kEnrol, expected_data(), test_time());
  ASSERT_TRUE(appraised && appraised->accepted);
  EXPECT_EQ(appraised->matched.at("measurement").front(), "acme/image@2:snp#0");
  appraisal.imported.front().not_after = test_time() - std::chrono::hours(1);
  EXPECT_EQ(verdict(evidence_of(spec), appraisal), "MEASUREMENT_MISMATCH");
  appraisal.imported.clear();
  appraisal.constrained = {"measurement"};
  EXPECT_EQ(verdict(evidence_of(spec), appraisal), "MEASUREMENT_MISMATCH");
  appraisal.constrained = {"mrtd"};
  EXPECT_EQ(verdict(evidence_of(spec), appraisal), "reference-unmapped mrtd");
}

TEST(SnpEvidence, HiddenChip_IsKnownByItsGuest) {
  auto spec = snp::valid_snp_simulation(test_seed(), test_time(), snp::Generation::kTurin,
                                        snp::SigningKey::kVlek);
  spec.report.report_data = expected_data();
  const auto appraised = built_in_verifiers()
                             .appraise(evidence_of(spec), appraisal_of(spec), Purpose::kEnrol,
                                       expected_data(), test_time())
                             .value();
  EXPECT_TRUE(appraised.accepted) << appraised.error;
  EXPECT_EQ(appraised.platform, plugin_platform("sev-snp", spec.report.report_id));
  EXPECT_EQ(appraised.result["platform"]["chip_id_hidden"], true);
  EXPECT_EQ(appraised.result["tcb"]["reported"]["fmc"], 1);
}

// --- collateral as state

TEST(SnpCollateral, NamesItsAnchor_UnlessItIsAmds) {
  const auto spec = sound();
  const Appraisal appraisal = appraisal_of(spec);
  const auto set = authenticate_collateral(kSnpEvidence, evidence_of(spec).collateral,
                                           appraisal.dangerous_anchors)
                       .value();
  ASSERT_EQ(set->parts().size(), 1U);
  const CollateralPart& part = set->parts().front();
  EXPECT_EQ(part.name, "sev-snp/" + set->anchor().hex() + "/crl/milan");
  EXPECT_EQ(part.kind, "amd-crl");
  EXPECT_EQ(collateral_names(evidence_of(spec), appraisal), std::vector{part.name});
  EXPECT_EQ(collateral_names(evidence_of(spec), default_appraisal(kSnpEvidence)),
            std::vector<std::string>{"sev-snp/crl/milan"});
  EXPECT_EQ(set->digest(), sha256(as_bytes(canonical_json(set->bundle()).value())));
  EXPECT_EQ(members_of(*set, part), evidence_of(spec).collateral);
  EXPECT_GT(set->memory_bytes(), 0U);
  EXPECT_EQ(authenticate_collateral(kSnpEvidence, evidence_of(spec).collateral, {}).error().code,
            ErrorCode::kCollateralRefused);
}

TEST(SnpCollateral, JudgesEvidenceThatBringsNone) {
  const auto spec = sound();
  const Appraisal appraisal = appraisal_of(spec);
  Evidence evidence = evidence_of(spec);
  const auto set =
      authenticate_collateral(kSnpEvidence, evidence.collateral, appraisal.dangerous_anchors)
          .value();
  evidence.collateral = nullptr;
  const auto under = [&](const Appraisal& with, Timestamp now) {
    const auto appraised =
        appraise_under(*set, evidence, with, Purpose::kEnrol, expected_data(), now);
    return !appraised ? to_string(appraised.error())
                      : (appraised->accepted ? "OK" : appraised->error);
  };
  EXPECT_EQ(under(appraisal, test_time()), "OK");
  EXPECT_EQ(under(appraisal, test_time()), "OK") << "with a certificate that is known";
  EXPECT_EQ(under(appraisal, spec.crl.next_update + std::chrono::seconds(1)), "CRL_EXPIRED");
  Appraisal other = appraisal;
  other.dangerous_anchors.clear();
  EXPECT_EQ(under(other, test_time()), "ROOT_UNTRUSTED");
}

// A certificate that the set remembers is judged anew in all that can change.
TEST(SnpCollateral, KnownCertificate_IsJudgedAgain) {
  auto spec = sound();
  spec.leaf.not_after = test_time() + std::chrono::hours(24);
  const auto made = snp::simulate(spec);
  const auto anchor = snp::testing::anchor_of(made);
  const auto collateral = snp::authenticate_collateral(made.collateral, anchor).value();
  const snp::AppraisalPolicy policy;
  const auto at = [&](Timestamp now) {
    return snp::error_code(snp::verify(made.evidence, collateral,
                                       {now, snp::ReportDataExpectation::not_requested(), policy}))
        .value_or("accepted");
  };
  EXPECT_EQ(at(test_time()), "accepted");
  EXPECT_EQ(at(test_time() + std::chrono::hours(25)), "CERT_EXPIRED");
  auto revoked = spec;
  revoked.crl.revoked = {spec.ca.serial};
  const auto with_revoked =
      snp::authenticate_collateral(snp::simulate(revoked).collateral, anchor).value();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(snp::error_code(
                  snp::verify(made.evidence, with_revoked,
                              {test_time(), snp::ReportDataExpectation::not_requested(), policy})),
              "CERT_REVOKED");
  }
}

}  // namespace
}  // namespace assay::attestation
