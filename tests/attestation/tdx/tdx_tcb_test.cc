// SPDX-License-Identifier: Apache-2.0
// TCB levels and statuses of platform, module and quoting enclave, and the advice to relaunch.

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "attestation/tdx/tcb_evaluate.h"
#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx {
namespace {

using testing::Options;
using testing::valid_v4;
using testing::valid_v5;
using testing::verdict;

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

TEST(TdxStatus, NeedsConfiguration_WhereItsNameSaysSo) {
  for (int i = 0; i < 9; ++i) {
    const auto status = static_cast<TcbStatus>(i);
    EXPECT_EQ(needs_configuration(status), name(status).find("Configuration") != name(status).npos)
        << name(status);
  }
}

TEST(TdxPlatformLevel, HigherSvns_AreAsGood) {
  SimulationSpec spec = valid_v4();
  std::ranges::fill(spec.platform.components, 255);
  spec.platform.pcesvn = 65535;
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
}

TEST(TdxPlatformLevel, ModuleBytes_CountOnlyForModulesWithoutMajorVersion) {
  // With a major version the module's own level decides: 5 is low for the platform's byte 0.
  SimulationSpec spec = valid_v4();
  for (Json& level : spec.tcb_info["tcbLevels"]) {
    level["tcb"]["tdxtcbcomponents"][0]["svn"] = 200;
  }
  EXPECT_EQ(verdict(spec), "OK:UpToDate");
}

TEST(TdxModule, Identity_MustBeKnown) {
  SimulationSpec spec = valid_v4();
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

TEST(TdxModule, UpToDate_DoesNotHideAnOldPlatform) {
  SimulationSpec spec = valid_v4();
  spec.platform.pcesvn = 11;
  const AppraisalResult result = testing::run(simulate(spec));
  EXPECT_EQ(verdict(result), "TCB_STATUS_NOT_ACCEPTED:OutOfDate");
  EXPECT_EQ(result.tcb->platform, TcbStatus::kOutOfDate);
  EXPECT_EQ(result.tcb->module, TcbStatus::kUpToDate);
}

// --- what a machine has, and what becomes of it
//
// The simulated collateral has three levels for platforms: the newest (SGX component 0 at 8,
// component 7 at 5, PCESVN 13, module 5 and microcode 6), an older one that is out of date (7, 5,
// 11, 5 and 5) and a revoked one (5, 3, 5, 3 and 3). A module of major version 1 or 3 is up to date
// from 5, out of date from 4, revoked from 2; the quoting enclave from 4, 2 and 1.

constexpr std::string_view kRefused = "TCB_STATUS_NOT_ACCEPTED:";

enum class Form : std::uint8_t { kV4, kV5Td10, kV5Td15 };

struct Machine {
  const char* name;
  std::string expected;
  int pcesvn = 13;
  std::array<std::uint8_t, 2> component = {0, 8};  // index and value of one SGX component
  std::array<std::uint8_t, 3> module = {5, 1, 6};  // launched on: minor, major, microcode
  std::array<std::uint8_t, 3> loaded = {5, 1, 6};  // runs on, in a report of a TD 1.5
  int qe = 4;
  const char* level = "UpToDate";  // status of the newest platform level
  std::vector<TcbStatus> accepts = {TcbStatus::kUpToDate};
  Form form = Form::kV4;
};

class TdxTcbTable : public ::testing::TestWithParam<Machine> {};

TEST_P(TdxTcbTable, Machine_HasItsVerdict) {
  const Machine& row = GetParam();
  SimulationSpec spec = row.form == Form::kV4 ? valid_v4() : valid_v5();
  if (row.form == Form::kV5Td10) {
    spec.quote.body_type = BodyType::kTd10;
  }
  spec.platform.pcesvn = static_cast<std::uint16_t>(row.pcesvn);
  spec.platform.components.at(row.component[0]) = row.component[1];
  std::ranges::copy(row.module, spec.quote.report.tee_tcb_svn.begin());
  std::ranges::copy(row.loaded, spec.quote.report.tee_tcb_svn2.begin());
  spec.quote.qe.isvsvn = static_cast<std::uint16_t>(row.qe);
  spec.tcb_info["tcbLevels"][0]["tcbStatus"] = row.level;
  Options options;
  options.policy.accept_tcb_status = row.accepts;
  EXPECT_EQ(verdict(spec, options), row.expected);
}

std::string machine_name(const ::testing::TestParamInfo<Machine>& row) { return row.param.name; }

const std::string kOld = std::string(kRefused) + "OutOfDate";
const std::string kOldAndMore = std::string(kRefused) + "OutOfDateConfigurationNeeded";
const std::string kRelaunch = std::string(kRefused) + "TDRelaunchAdvised";

const Machine kPlatforms[] = {
    {.name = "Newest", .expected = "OK:UpToDate"},
    {.name = "LowPcesvn", .expected = kOld, .pcesvn = 12},
    {.name = "LowComponent", .expected = kOld, .component = {0, 7}},
    {.name = "LowMicrocode", .expected = kOld, .module = {5, 1, 5}},
    {.name = "RevokedComponent", .expected = "TCB_REVOKED", .component = {7, 4}},
    {.name = "BelowEveryLevel", .expected = "TCB_LEVEL_NOT_SUPPORTED", .component = {7, 2}},
    {.name = "ModuleWithoutMajorVersion", .expected = "OK:UpToDate", .module = {5, 0, 6}},
    {.name = "LowModuleWithoutMajorVersion", .expected = "TCB_REVOKED", .module = {4, 0, 6}},
};
INSTANTIATE_TEST_SUITE_P(Platforms, TdxTcbTable, ::testing::ValuesIn(kPlatforms), machine_name);

const Machine kModulesAndQes[] = {
    {.name = "OtherKnownMajorVersion", .expected = "OK:UpToDate", .module = {5, 3, 6}},
    {.name = "UnknownMajorVersion", .expected = "TDX_MODULE_IDENTITY_MISSING", .module = {5, 7, 6}},
    {.name = "OldModule", .expected = kOld, .module = {4, 1, 6}},
    {.name = "OldModuleOnALevelThatNeedsConfiguration",
     .expected = kOldAndMore,
     .module = {4, 1, 6},
     .level = "ConfigurationNeeded"},
    {.name = "RevokedModule",
     .expected = "TCB_REVOKED",
     .module = {2, 1, 6},
     .level = "ConfigurationNeeded"},
    {.name = "ModuleBelowEveryLevel",
     .expected = "TCB_LEVEL_NOT_SUPPORTED",
     .module = {1, 1, 6},
     .level = "ConfigurationNeeded"},
    {.name = "OldQe", .expected = kOld, .qe = 3},
    {.name = "RevokedQe", .expected = "TCB_REVOKED", .qe = 1},
    {.name = "QeBelowEveryLevel", .expected = "TCB_LEVEL_NOT_SUPPORTED", .qe = 0},
};
INSTANTIATE_TEST_SUITE_P(ModulesAndQes, TdxTcbTable, ::testing::ValuesIn(kModulesAndQes),
                         machine_name);

// Launched on module 4.1 and now on the newest one, unless the row says otherwise.
const Machine kRelaunches[] = {
    {.name = "ModuleUpdatedAfterLaunch",
     .expected = kRelaunch,
     .module = {4, 1, 6},
     .form = Form::kV5Td15},
    {.name = "ModuleUpdatedAfterLaunchAccepted",
     .expected = "OK:TDRelaunchAdvised",
     .module = {4, 1, 6},
     .accepts = {TcbStatus::kUpToDate, TcbStatus::kTdRelaunchAdvised},
     .form = Form::kV5Td15},
    {.name = "OnALevelThatNeedsConfiguration",
     .expected = std::string(kRefused) + "TDRelaunchAdvisedConfigurationNeeded",
     .module = {4, 1, 6},
     .level = "ConfigurationAndSWHardeningNeeded",
     .form = Form::kV5Td15},
    {.name = "LoadedModuleOld",
     .expected = kOld,
     .module = {4, 1, 6},
     .loaded = {4, 1, 6},
     .form = Form::kV5Td15},
    {.name = "LateMicrocode",
     .expected = kOld,
     .module = {4, 1, 6},
     .loaded = {5, 1, 5},
     .form = Form::kV5Td15},
    {.name = "LoadedModuleOfAnotherMajorVersion",
     .expected = kRelaunch,
     .module = {4, 1, 6},
     .loaded = {5, 3, 6},
     .form = Form::kV5Td15},
    {.name = "LoadedModuleWithoutMajorVersion",
     .expected = kRelaunch,
     .module = {4, 1, 6},
     .loaded = {5, 0, 6},
     .form = Form::kV5Td15},
    {.name = "OldLoadedModuleWithoutMajorVersion",
     .expected = kOld,
     .module = {4, 1, 6},
     .loaded = {4, 0, 6},
     .form = Form::kV5Td15},
    {.name = "LoadedModuleOfAnUnknownMajorVersion",
     .expected = "TDX_MODULE_IDENTITY_MISSING",
     .module = {4, 1, 6},
     .loaded = {5, 9, 6},
     .form = Form::kV5Td15},
    {.name = "OldQeBeside", .expected = kOld, .module = {4, 1, 6}, .qe = 3, .form = Form::kV5Td15},
    {.name = "OldPlatformBeside",
     .expected = kOld,
     .pcesvn = 11,
     .module = {4, 1, 6},
     .form = Form::kV5Td15},
    {.name = "ReportWithoutSecondSvn",
     .expected = kOld,
     .module = {4, 1, 6},
     .form = Form::kV5Td10},
    {.name = "QuoteOfVersion4", .expected = kOld, .module = {4, 1, 6}},
    // What is old is not the module, so another launch changes nothing.
    {.name = "OldMicrocodeUnderANewModule",
     .expected = kOld,
     .module = {5, 1, 5},
     .form = Form::kV5Td15},
};
INSTANTIATE_TEST_SUITE_P(Relaunches, TdxTcbTable, ::testing::ValuesIn(kRelaunches), machine_name);

// Each status that a platform level may have: refused, accepted by name, and no other accepted
// then.
std::vector<Machine> level_machines() {
  std::vector<Machine> rows;
  for (const char* status :
       {"SWHardeningNeeded", "ConfigurationNeeded", "ConfigurationAndSWHardeningNeeded",
        "OutOfDate", "OutOfDateConfigurationNeeded"}) {
    const std::vector<TcbStatus> only = {tcb_status_from(status).value()};
    rows.push_back({.name = status, .expected = std::string(kRefused) + status, .level = status});
    rows.push_back({.name = status,
                    .expected = "OK:" + std::string(status),
                    .level = status,
                    .accepts = only});
    rows.push_back(
        {.name = status, .expected = std::string(kRefused) + "UpToDate", .accepts = only});
  }
  return rows;
}
std::string level_name(const ::testing::TestParamInfo<Machine>& row) {
  constexpr std::array<const char*, 3> kWays = {"_Refused", "_Accepted", "_NoOtherAccepted"};
  return std::string(row.param.name) + kWays.at(row.index % 3);
}
INSTANTIATE_TEST_SUITE_P(Levels, TdxTcbTable, ::testing::ValuesIn(level_machines()), level_name);

// The level that fits by SGX alone needs no configuration; the one that fits altogether does.
TEST(TdxTcbResult, RelaunchOnALevelThatNeedsConfiguration_SaysBoth) {
  SimulationSpec spec = valid_v5();
  spec.quote.report.tee_tcb_svn[0] = 4;
  spec.quote.report.tee_tcb_svn[2] = 5;
  EXPECT_EQ(verdict(spec), kRelaunch);
  spec.tcb_info["tcbLevels"][1]["tcbStatus"] = "OutOfDateConfigurationNeeded";
  EXPECT_EQ(verdict(spec), std::string(kRefused) + "TDRelaunchAdvisedConfigurationNeeded");
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
  EXPECT_EQ(to_json(result)["tcb"]["shortfall"][1]["words"],
            "TDX module (module) has version 4, the newest level needs 5");
  EXPECT_EQ(
      words({"sgx[7]", 4, 5}),
      "firmware or microcode of the platform (sgx[7]) has version 4, the newest level needs 5");
  EXPECT_EQ(words({"tdx[2]", 5, 6}),
            "late microcode (tdx[2]) has version 5, the newest level needs 6");
  EXPECT_EQ(words({"tdx[9]", 5, 6}),
            "component of TDX (tdx[9]) has version 5, the newest level needs 6");
  EXPECT_TRUE(testing::run(simulate(valid_v4())).shortfalls.empty());
}

// A verdict names what is old before it looks for the module.
TEST(TdxTcbResult, ShortfallUnderAnUnknownModule_LeavesTheModuleOut) {
  SimulationSpec spec = valid_v4();
  spec.quote.qe.isvsvn = 3;
  spec.quote.report.tee_tcb_svn[0] = 0;
  spec.quote.report.tee_tcb_svn[1] = 7;
  const auto collateral = testing::authenticate(simulate(spec));
  const Bytes quote = simulate(spec).quote;
  const auto list = shortfalls(collateral.tcb_info(), collateral.qe_identity().levels,
                               spec.platform, parse_quote(quote).value());
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list.front().component, "qe");
}

}  // namespace
}  // namespace assay::attestation::tdx
