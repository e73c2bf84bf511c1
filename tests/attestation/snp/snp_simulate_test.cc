// SPDX-License-Identifier: Apache-2.0
// Simulated machines are accepted in every generation, and each fault has its error.

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "attestation/simulate/snp_simulator.h"
#include "schemas/evidence.h"
#include "tests/attestation/snp/strict.h"
#include "tests/support/manual_clock.h"

namespace assay::attestation::snp {
namespace {

using testing::anchor_of;
using testing::judge;
using testing::strict_policy;
using testing::strict_spec;
using testing::test_seed;
using testing::test_time;
using testing::verdict_of;

// The anchors that a fault must not move: those of the sound machines.
std::vector<TrustAnchor> sound_anchors() {
  std::vector<TrustAnchor> anchors;
  for (const Generation generation : {Generation::kMilan, Generation::kGenoa}) {
    anchors.push_back(
        anchor_of(simulate(valid_snp_simulation(test_seed(), test_time(), generation))));
  }
  return anchors;
}

std::string verdict(const SnpFault& fault, const AppraisalPolicy& policy,
                    const ReportDataExpectation& expected,
                    const std::vector<TrustAnchor>& anchors) {
  const SnpSimulation made = simulate(strict_spec(), fault);
  const AppraisalResult result =
      verify(made.evidence, made.collateral, anchors, {test_time(), expected, policy});
  EXPECT_EQ(result.accepted, !result.failure.has_value());
  return error_code(result).value_or("accepted");
}

// The strict policy without what refuses faults that need something else.
AppraisalPolicy policy_for(std::string_view needed) {
  AppraisalPolicy policy = strict_policy(strict_spec());
  if (needed == "reference_values" || needed.empty() || needed == "report data") {
    return policy;
  }
  const AppraisalPolicy sound = policy;
  policy = AppraisalPolicy{};
  if (needed == "accept_generations") {
    policy.accept_generations = sound.accept_generations;
  } else if (needed == "accept_signing_keys") {
    policy.accept_signing_keys = sound.accept_signing_keys;
  } else if (needed == "provider_allow_list") {
    policy.provider_allow_list = sound.provider_allow_list;
  } else if (needed == "platform_allow_list") {
    policy.platform_allow_list = sound.platform_allow_list;
  } else if (needed == "min_tcb") {
    policy.min_tcb = sound.min_tcb;
  } else if (needed == "min_guest_svn") {
    policy.min_guest_svn = sound.min_guest_svn;
  } else if (needed == "allow_smt") {
    policy.allow_smt = false;
  } else if (needed == "require_single_socket") {
    policy.require_single_socket = true;
  } else if (needed == "require_ciphertext_hiding") {
    policy.require_ciphertext_hiding = true;
  } else if (needed == "require_alias_check") {
    policy.require_alias_check = true;
  } else if (needed == "require_rapl_disabled") {
    policy.require_rapl_disabled = true;
  } else {
    ADD_FAILURE() << "no policy has " << needed;
  }
  return policy;
}

TEST(SnpSimulate, EveryGenerationAndKeyIsAccepted) {
  for (const Generation generation : kGenerations) {
    for (const SigningKey kind : {SigningKey::kVcek, SigningKey::kVlek}) {
      const auto spec = valid_snp_simulation(test_seed(), test_time(), generation, kind);
      const std::string where = std::string(name(generation)) + " " + std::string(name(kind));
      EXPECT_EQ(verdict_of(simulate(spec), AppraisalPolicy{}), "accepted") << where;
    }
  }
}

TEST(SnpSimulate, SoundEvidenceMeetsTheStrictestPolicy) {
  const auto spec = strict_spec();
  const SnpSimulation made = simulate(spec);
  EXPECT_EQ(verdict_of(made, strict_policy(spec)), "accepted");
  const AppraisalResult result =
      judge(made, anchor_of(made), strict_policy(spec), ReportDataExpectation::exactly({}));
  EXPECT_EQ(result.tcb_status, TcbStatus::kUpToDate);
  EXPECT_TRUE(result.report_data_bound);
  EXPECT_FALSE(result.anchor_is_amd);
  EXPECT_TRUE(result.not_constrained.empty());
  EXPECT_EQ(result.matched.size(), kReferenceCount);
  EXPECT_EQ(result.valid_until, spec.crl.next_update);
}

TEST(SnpSimulate, WithoutItsRootItIsRefused) {
  const SnpSimulation made = simulate(strict_spec());
  EXPECT_EQ(error_code(judge(made, amd_root(Generation::kMilan), strict_policy(strict_spec()),
                             ReportDataExpectation::not_requested())),
            "CRL_SIGNATURE");
  AppraisalPolicy without_crl = strict_policy(strict_spec());
  without_crl.dangerous_allow_missing_crl = true;
  SnpSimulation bare = made;
  bare.collateral.crl.clear();
  EXPECT_EQ(error_code(judge(bare, amd_root(Generation::kMilan), without_crl,
                             ReportDataExpectation::not_requested())),
            "ROOT_UNTRUSTED");
}

TEST(SnpSimulate, EachFaultHasItsError) {
  const auto anchors = sound_anchors();
  const auto expected = ReportDataExpectation::exactly(ReportData{});
  for (const SnpFault& fault : snp_faults()) {
    EXPECT_EQ(verdict(fault, policy_for(fault.needs), expected, anchors), fault.error)
        << fault.name;
  }
}

TEST(SnpSimulate, AFaultThatNeedsSomethingIsAcceptedWithoutIt) {
  const auto anchors = sound_anchors();
  for (const SnpFault& fault : snp_faults()) {
    if (!fault.needs.empty()) {
      EXPECT_EQ(verdict(fault, AppraisalPolicy{}, ReportDataExpectation::not_requested(), anchors),
                "accepted")
          << fault.name;
    }
  }
}

TEST(SnpSimulate, EveryErrorHasAFaultOrAReason) {
  std::multiset<std::string_view> seen;
  for (const SnpFault& fault : snp_faults()) {
    seen.insert(fault.error.substr(0, fault.error.find(':')));
  }
  for (const SnpErrorWithoutFault& one : snp_errors_without_fault()) {
    EXPECT_FALSE(seen.contains(name(one.error)));
    seen.insert(name(one.error));
  }
  for (std::size_t i = 0; i < snp_error_count(); ++i) {
    const auto error = static_cast<SnpError>(i);
    EXPECT_TRUE(seen.contains(name(error))) << name(error);
    EXPECT_FALSE(meaning(error).empty());
  }
}

TEST(SnpSimulate, ProviderIsAPureFunctionOfSeedAndTime) {
  const ManualClock clock(test_time());
  const auto one = make_snp_simulator({.seed = test_seed()}, clock).value();
  const auto two = make_snp_simulator({.seed = test_seed()}, clock).value();
  EXPECT_EQ(one->quote({}).value(), two->quote({}).value());
  EXPECT_EQ(one->type(), kSnpEvidence);
  EXPECT_EQ(one->platform().value().size(), 64U);
  EXPECT_TRUE(one->event_log().value().empty());
  ChipId chip{};
  chip.fill(7);
  const auto other = make_snp_simulator({.seed = test_seed(), .chip = chip}, clock).value();
  EXPECT_EQ(other->root(), one->root());
  EXPECT_NE(other->platform().value(), one->platform().value());
  EXPECT_FALSE(make_snp_simulator({}, clock));
  EXPECT_FALSE(make_snp_simulator({.seed = test_seed(), .fault = "nothing of the kind"}, clock));
}

}  // namespace
}  // namespace assay::attestation::snp
