// SPDX-License-Identifier: Apache-2.0
// TCB levels and statuses of platform, module and quoting enclave, and the advice to relaunch.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

using testing::Options;
using testing::valid_v4;
using testing::valid_v5;
using testing::verdict;

std::string refused(std::string_view status) {
  return "TCB_STATUS_NOT_ACCEPTED:" + std::string(status);
}

// Status of the highest level, which the simulated platform meets.
void set_platform(SimulationSpec& spec, std::string_view status) {
  spec.tcb_info["tcbLevels"][0]["tcbStatus"] = status;
}

TEST(TdxStatus, Names_AreIntels) {
  for (const char* text :
       {"UpToDate", "SWHardeningNeeded", "ConfigurationNeeded", "ConfigurationAndSWHardeningNeeded",
        "OutOfDate", "OutOfDateConfigurationNeeded", "Revoked", "TDRelaunchAdvised",
        "TDRelaunchAdvisedConfigurationNeeded"}) {
    const auto status = tcb_status_from(text);
    ASSERT_TRUE(status.has_value()) << text;
    EXPECT_EQ(name(*status), text);
  }
  EXPECT_FALSE(tcb_status_from("uptodate").has_value());
}

TEST(TdxStatus, Converge_FollowsTheTable) {
  using enum TcbStatus;
  const struct {
    TcbStatus platform, out_of_date;
  } rows[] = {
      {kUpToDate, kOutOfDate},
      {kSwHardeningNeeded, kOutOfDate},
      {kConfigurationNeeded, kOutOfDateConfigurationNeeded},
      {kConfigurationAndSwHardeningNeeded, kOutOfDateConfigurationNeeded},
      {kOutOfDate, kOutOfDate},
      {kOutOfDateConfigurationNeeded, kOutOfDateConfigurationNeeded},
      {kRevoked, kRevoked},
      {kTdRelaunchAdvised, kTdRelaunchAdvised},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(converge(row.platform, kUpToDate), row.platform);
    EXPECT_EQ(converge(row.platform, kOutOfDate), row.out_of_date);
    EXPECT_EQ(converge(row.platform, kRevoked), kRevoked);
  }
}

TEST(TdxPlatformLevel, EachLowerSvn_LowersTheLevel) {
  SimulationSpec spec = valid_v4();
  spec.platform.pcesvn = 12;
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
  spec = valid_v4();
  spec.platform.components[0] = 7;
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
  spec = valid_v4();
  spec.quote.report.tee_tcb_svn[2] = 5;
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
  spec = valid_v4();
  spec.platform.components[7] = 4;
  EXPECT_EQ(verdict(spec), "TCB_REVOKED");
  spec = valid_v4();
  spec.platform.components[7] = 2;
  EXPECT_EQ(verdict(spec), "TCB_LEVEL_NOT_SUPPORTED");
}

TEST(TdxPlatformLevel, HigherSvns_AreAsGood) {
  SimulationSpec spec = valid_v4();
  std::ranges::fill(spec.platform.components, 255);
  spec.platform.pcesvn = 65535;
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
}

TEST(TdxPlatformLevel, ModuleBytes_CountOnlyForModulesWithoutMajorVersion) {
  SimulationSpec spec = valid_v4();
  spec.quote.report.tee_tcb_svn = {5, 0, 6};
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
  spec.quote.report.tee_tcb_svn = {4, 0, 6};
  EXPECT_EQ(verdict(spec), "TCB_REVOKED");  // below 5 in both higher levels
  // With a major version the module's own level decides: 5 is low for the platform's byte 0.
  spec = valid_v4();
  for (Json& level : spec.tcb_info["tcbLevels"]) {
    level["tcb"]["tdxtcbcomponents"][0]["svn"] = 200;
  }
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
}

TEST(TdxPlatformLevel, Status_IsTheLevels) {
  for (const char* status :
       {"SWHardeningNeeded", "ConfigurationNeeded", "ConfigurationAndSWHardeningNeeded",
        "OutOfDate", "OutOfDateConfigurationNeeded"}) {
    SimulationSpec spec = valid_v4();
    set_platform(spec, status);
    EXPECT_EQ(verdict(spec), refused(status));
    Options options;
    options.policy.accept_tcb_status = {tcb_status_from(status).value()};
    EXPECT_EQ(verdict(spec, options), "OK:" + std::string(status));
    EXPECT_EQ(verdict(valid_v4(), options), refused("UpToDate"));
  }
}

TEST(TdxModule, Identity_MustBeKnown) {
  SimulationSpec spec = valid_v4();
  spec.quote.report.tee_tcb_svn[1] = 3;
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
  spec.quote.report.tee_tcb_svn[1] = 7;
  EXPECT_EQ(verdict(spec), "TDX_MODULE_IDENTITY_MISSING");
  spec = valid_v4();
  spec.tcb_info.erase("tdxModuleIdentities");
  EXPECT_EQ(verdict(spec), "TDX_MODULE_IDENTITY_MISSING");
}

TEST(TdxModule, SignerAndAttributes_MustBeTheIdentitys) {
  SimulationSpec spec = valid_v4();
  spec.quote.report.mrsignerseam[0] = 1;
  EXPECT_EQ(verdict(spec), "TDX_MODULE_MRSIGNER_MISMATCH");
  spec = valid_v4();
  spec.quote.report.seamattributes[0] = 1;
  EXPECT_EQ(verdict(spec), "TDX_MODULE_ATTRIBUTES_MISMATCH");
  // Not even where the identity does not look.
  spec.tcb_info["tdxModuleIdentities"][0]["attributesMask"] = "0000000000000000";
  EXPECT_EQ(verdict(spec), "TDX_MODULE_ATTRIBUTES_MISMATCH");
}

TEST(TdxModule, Level_JoinsThePlatforms) {
  SimulationSpec spec = valid_v4();
  spec.quote.report.tee_tcb_svn[0] = 4;
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
  set_platform(spec, "ConfigurationNeeded");
  EXPECT_EQ(verdict(spec), refused("OutOfDateConfigurationNeeded"));
  spec.quote.report.tee_tcb_svn[0] = 2;
  EXPECT_EQ(verdict(spec), "TCB_REVOKED");
  spec.quote.report.tee_tcb_svn[0] = 1;
  EXPECT_EQ(verdict(spec), "TCB_LEVEL_NOT_SUPPORTED");
}

TEST(TdxModule, UpToDate_DoesNotHideAnOldPlatform) {
  SimulationSpec spec = valid_v4();
  spec.platform.pcesvn = 11;
  const AppraisalResult result = testing::run(simulate(spec));
  EXPECT_EQ(verdict(result), refused("OutOfDate"));
  EXPECT_EQ(result.tcb->platform, TcbStatus::kOutOfDate);
  EXPECT_EQ(result.tcb->module, TcbStatus::kUpToDate);
}

TEST(TdxQeLevel, JoinsThePlatforms) {
  SimulationSpec spec = valid_v4();
  spec.quote.qe.isvsvn = 3;
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
  spec.quote.qe.isvsvn = 1;
  EXPECT_EQ(verdict(spec), "TCB_REVOKED");
  spec.quote.qe.isvsvn = 0;
  EXPECT_EQ(verdict(spec), "TCB_LEVEL_NOT_SUPPORTED");
}

// A TD that was launched on module 4.1 and now runs on the newest one.
SimulationSpec relaunchable() {
  SimulationSpec spec = valid_v5();
  spec.quote.report.tee_tcb_svn = {4, 1, 6};
  spec.quote.report.tee_tcb_svn2 = {5, 1, 6};
  return spec;
}

TEST(TdxRelaunch, ModuleUpdatedAfterLaunch_IsAdvised) {
  EXPECT_EQ(verdict(relaunchable()), refused("TDRelaunchAdvised"));
  Options options;
  options.policy.accept_tcb_status.push_back(TcbStatus::kTdRelaunchAdvised);
  EXPECT_EQ(verdict(relaunchable(), options), "OK:TDRelaunchAdvised");
}

TEST(TdxRelaunch, ConfigurationNeeded_IsKept) {
  SimulationSpec spec = relaunchable();
  set_platform(spec, "ConfigurationAndSWHardeningNeeded");
  EXPECT_EQ(verdict(spec), refused("TDRelaunchAdvisedConfigurationNeeded"));
}

TEST(TdxRelaunch, LoadedModuleOld_IsPlainlyOutOfDate) {
  SimulationSpec spec = relaunchable();
  spec.quote.report.tee_tcb_svn2 = {4, 1, 6};
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
  spec.quote.report.tee_tcb_svn2 = {5, 1, 5};  // late microcode
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
}

TEST(TdxRelaunch, LoadedModuleOfAnotherMajorVersion_IsLookedUp) {
  SimulationSpec spec = relaunchable();
  spec.quote.report.tee_tcb_svn2 = {5, 3, 6};
  EXPECT_EQ(verdict(spec), refused("TDRelaunchAdvised"));
  spec.quote.report.tee_tcb_svn2 = {5, 0, 6};
  EXPECT_EQ(verdict(spec), refused("TDRelaunchAdvised"));
  spec.quote.report.tee_tcb_svn2 = {4, 0, 6};
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
  spec.quote.report.tee_tcb_svn2 = {5, 9, 6};
  EXPECT_EQ(verdict(spec), "TDX_MODULE_IDENTITY_MISSING");
}

TEST(TdxRelaunch, AnythingElseOld_IsPlainlyOutOfDate) {
  SimulationSpec spec = relaunchable();
  spec.quote.qe.isvsvn = 3;
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
  spec = relaunchable();
  spec.platform.pcesvn = 11;
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
}

TEST(TdxRelaunch, ReportWithoutSecondSvn_IsPlainlyOutOfDate) {
  SimulationSpec spec = relaunchable();
  spec.quote.body_type = BodyType::kTd10;
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
  spec.quote.version = 4;
  EXPECT_EQ(verdict(spec), refused("OutOfDate"));
}

TEST(TdxTcbResult, DateAndAdvisories_AreOfAllLevels) {
  SimulationSpec spec = valid_v4();
  spec.platform.pcesvn = 11;
  spec.quote.report.tee_tcb_svn[0] = 4;
  spec.quote.qe.isvsvn = 2;
  const AppraisalResult result = testing::run(simulate(spec));
  ASSERT_TRUE(result.tcb.has_value());
  EXPECT_EQ(to_rfc3339(result.tcb->date), "2023-08-09T00:00:00.000Z");
  EXPECT_EQ(result.tcb->advisories, (std::vector<std::string>{"INTEL-SA-00001", "INTEL-SA-00002"}));
}

TEST(TdxTcbResult, Shortfall_SaysWhatIsOld) {
  SimulationSpec spec = valid_v4();
  spec.platform.components[7] = 4;
  spec.quote.report.tee_tcb_svn[0] = 4;
  spec.quote.qe.isvsvn = 3;
  const AppraisalResult result = testing::run(simulate(spec));
  std::string text;
  for (const Shortfall& entry : result.shortfalls) {
    text += entry.component + " " + std::to_string(entry.have) + "<" + std::to_string(entry.need) +
            "; ";
  }
  EXPECT_EQ(text, "sgx[7] 4<5; module 4<5; qe 3<4; ");
  EXPECT_TRUE(testing::run(simulate(valid_v4())).shortfalls.empty());
}

}  // namespace
}  // namespace assay::attestation::tdx
