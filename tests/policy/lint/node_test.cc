// SPDX-License-Identifier: Apache-2.0
// What lint says about conditions on nodes and reports.
#include <algorithm>

#include <gtest/gtest.h>

#include "policy/lint.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

using Level = Finding::Level;

// Notes about condition `it`, beside a manifest and a node condition; or warnings and errors.
std::vector<std::string> findings_of(ConditionKind kind, Level level) {
  const PolicyDocument policy = policy_with(
      {manifest_condition(), condition("node", NodeCondition{}), condition("it", std::move(kind))});
  std::vector<std::string> texts;
  for (const Finding& finding : lint(policy)) {
    const bool noted = finding.level == Level::kNote;
    if (noted == (level == Level::kNote) && finding.condition != "published" &&
        finding.condition != "node") {
      texts.push_back(finding.text);
    }
  }
  return texts;
}

bool warns(ConditionKind kind, std::string_view text) {
  const auto found = findings_of(std::move(kind), Level::kWarning);
  return found.size() == 1 && found.front().find(text) != std::string::npos;
}

bool notes(ConditionKind kind, std::string_view text) {
  const auto found = findings_of(std::move(kind), Level::kNote);
  return std::any_of(found.begin(), found.end(),
                     [&](const auto& one) { return one.find(text) != std::string::npos; });
}

TEST(NodeLint, GoodConditions_HaveNotesAlone) {
  NodeCondition node;
  node.max_evidence_age_seconds = 3600;
  node.tcb_status = {"UpToDate", "SWHardeningNeeded"};
  EXPECT_TRUE(findings_of(node, Level::kWarning).empty());
  ReportCondition report;
  report.max_age_seconds = 3600;
  report.min_spot_checks = 16;
  EXPECT_TRUE(findings_of(report, Level::kWarning).empty());
}

TEST(NodeLint, Points_AreNoted) {
  EXPECT_TRUE(notes(NodeCondition{}, "decided at bind"));
  EXPECT_TRUE(notes(ReportCondition{}, "decided at bind"));
  ReportCondition memory;
  memory.scope = "device-memory";
  EXPECT_TRUE(notes(memory, "decided at serve"));
}

TEST(NodeLint, DemandsThatNothingMeets_AreNamed) {
  NodeCondition node;
  node.max_evidence_age_seconds = 0;
  EXPECT_TRUE(warns(node, "cannot pass"));
  node = {};
  node.tcb_status = {"uptodate"};
  EXPECT_TRUE(warns(node, "cannot pass"));
  ReportCondition report;
  report.max_age_seconds = 0;
  EXPECT_TRUE(warns(report, "cannot pass"));
  report = {};
  report.device_attested = true;
  EXPECT_TRUE(warns(report, "cannot pass"));
  report = {};
  report.scope = "device-memory";
  EXPECT_TRUE(findings_of(report, Level::kWarning).empty());
  EXPECT_TRUE(notes(report, "max_uncovered_bytes"));
  EXPECT_TRUE(notes(report, "in_place"));
  EXPECT_TRUE(notes(report, "min_device_percent"));
  EXPECT_FALSE(notes(report, "watched is false"));
  report.memory = {.watched = false,
                   .in_place = true,
                   .max_uncovered_bytes = 0,
                   .min_device_percent = 50,
                   .min_redrawn = {}};
  EXPECT_FALSE(notes(report, "min_device_percent"));
  EXPECT_FALSE(notes(report, "without max_uncovered_bytes"));
  EXPECT_FALSE(notes(report, "without in_place"));
  EXPECT_TRUE(notes(report, "watched is false"));
  report.min_spot_checks = 1;
  EXPECT_TRUE(warns(report, "not spot-checked"));
  report.min_spot_checks.reset();
  report.scope = "disk";
  EXPECT_TRUE(warns(report, "no report has this scope"));
}

TEST(NodeLint, AnchorsBesideTheVendors_AreNamed) {
  NodeCondition node;
  node.anchors = {node_fact().anchor->text()};
  EXPECT_TRUE(warns(node, "proves nothing about hardware"));
  node.anchors = {"my root"};
  EXPECT_TRUE(warns(node, "an anchor is the digest of a certificate"));
}

TEST(NodeLint, ReportWithoutANodeCondition_IsNamed) {
  const auto has_warning = [](const PolicyDocument& policy) {
    const auto findings = lint(policy);
    return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
      return finding.level == Level::kWarning && finding.condition.empty() &&
             finding.text.find("beside the report") != std::string::npos;
    });
  };
  const Condition report = condition("report", ReportCondition{});
  const Condition node = condition("node", NodeCondition{});
  EXPECT_TRUE(has_warning(policy_with({manifest_condition(), report})));
  EXPECT_FALSE(has_warning(policy_with({manifest_condition(), report, node})));
  // One of several is not always required.
  EXPECT_TRUE(has_warning(
      policy_with({manifest_condition(), condition("any", AnyCondition{{node, report}})})));
  EXPECT_FALSE(has_warning(
      policy_with({manifest_condition(), condition("all", AllCondition{{node, report}})})));
}

TEST(NodeLint, Surprises_AreNoted) {
  NodeCondition node;
  node.worker_measured = false;
  EXPECT_TRUE(notes(node, "measured or not"));
  node.tcb_status = {"UpToDate"};
  EXPECT_TRUE(notes(node, "need evidence"));
  EXPECT_TRUE(notes(ReportCondition{}, "however old"));
  ReportCondition report;
  report.worker_measured = false;
  EXPECT_TRUE(notes(report, "the word of whoever runs the node"));
}

TEST(NodeLint, AffinityThatNobodyAdds_IsNamed) {
  PolicyDocument policy = valid_policy();
  policy.node_affinity = {{"assay.dev/attested", {"true"}}};
  const auto affinity_warnings = [&] {
    const auto findings = lint(policy);
    return std::count_if(findings.begin(), findings.end(), [](const Finding& finding) {
      return finding.level == Level::kWarning &&
             finding.text.find("node_affinity") != std::string::npos;
    });
  };
  EXPECT_EQ(affinity_warnings(), 0);
  policy.mode = PolicyMode::kWarn;
  EXPECT_EQ(affinity_warnings(), 1);
}

}  // namespace
}  // namespace assay::policy::test
