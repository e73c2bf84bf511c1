// SPDX-License-Identifier: Apache-2.0
// Node, reports and workload in the documents that are stored for replay.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "policy/facts.h"
#include "schemas/core/sha.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

std::string canonical(const Facts& facts) { return canonical_json(to_json(facts)).value(); }

Facts full_facts() {
  Facts facts = facts_on_node();
  facts.node->revoked = Revocation{from_now(-60), "stolen"};
  facts.node->appraisal_error = "TD_MRTD_MISMATCH";
  facts.reports.front().differing = "model.bin bytes 0-1048576";
  facts.reports.push_back(report_fact());
  facts.reports.back().device_attested = true;
  facts.reports.back().pod = "uid-1";
  facts.reports.back().pod_volume = "cache";
  facts.reports.back().reported_at = from_now(-700);
  facts.reports.push_back(memory_report_fact("uid-1"));
  facts.reports.back().memory->device_bytes = 300;
  facts.reports.back().memory->read_by = {
      {{0, 2}, "opencl:0", "A GPU", "580", "GPU-1", "0000:1b:00.0", sha256(as_bytes("kernel"))},
      {{1}, "cpu", "A processor", "", {}, {}, {}}};
  facts.reports.back().memory->staged_causes = {"a test", "cudaMalloc"};
  facts.reports.back().memory->detection = 0.25;
  facts.reports.back().memory->uncovered_count = 2;
  facts.reports.back().memory->check = "full";
  facts.reports.back().memory->layout =
      MemoryLayout{LayoutKind::kRecipe, "sha256:" + std::string(64, '1'), true};
  for (ReportFact& report : facts.reports) {
    report.evidence_valid_until = from_now(60);
  }
  facts.instances = {{"main",
                      "verified",
                      from_now(-2),
                      {{"embed", "bytes 0 to 7"}, {"", "more"}},
                      WatchedBy{WatchCheck::kTags, 2000, 100}},
                     {"draft", "pending", from_now(-2)}};
  facts.claims = {{"pvc://inference/models", "claim-1", "pv-1"}, {"pvc://a/b", "claim-2", ""}};
  facts.asked_locations = {"hostpath:///data"};
  facts.pod = "uid-1";
  return facts;
}

Facts bare_facts() {
  Facts facts = valid_facts();
  facts.node = NodeFact{};
  facts.node->name = "gpu-1";
  facts.node->enrolled_at = from_now(-1);
  facts.node->expires_at = from_now(1);
  return facts;
}

TEST(NodeFacts, RoundTrip_GivesTheSameDocument) {
  for (const Facts& facts : {full_facts(), bare_facts(), facts_on_node()}) {
    const auto again = facts_from_json(parse_json(canonical(facts)).value());
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(canonical(*again), canonical(facts));
  }
}

TEST(NodeFacts, RoundTrip_KeepsEveryField) {
  const Facts facts = full_facts();
  const Facts again = facts_from_json(parse_json(canonical(facts)).value()).value();
  ASSERT_TRUE(again.node);
  EXPECT_EQ(again.node->name, "gpu-1");
  EXPECT_EQ(again.node->enrolled_at, facts.node->enrolled_at);
  EXPECT_EQ(again.node->expires_at, facts.node->expires_at);
  EXPECT_EQ(again.node->revoked, facts.node->revoked);
  EXPECT_TRUE(again.node->worker_measured);
  EXPECT_EQ(again.node->appraised_at, facts.node->appraised_at);
  EXPECT_EQ(again.node->evidence_type, "tdx");
  EXPECT_EQ(again.node->tcb_status, "UpToDate");
  EXPECT_EQ(again.node->anchor, facts.node->anchor);
  EXPECT_TRUE(again.node->anchor_is_vendor);
  EXPECT_EQ(again.node->appraisal, facts.node->appraisal);
  EXPECT_EQ(again.node->appraisal_policy, facts.node->appraisal_policy);
  EXPECT_TRUE(again.node->appraisal_current);
  EXPECT_EQ(again.node->appraisal_error, "TD_MRTD_MISMATCH");
  EXPECT_TRUE(again.reports.back().appraisal_current);
  EXPECT_EQ(again.reports.back().evidence_valid_until, from_now(60));
  ASSERT_EQ(again.reports.size(), 3U);
  const ReportFact& memory = again.reports.front();  // device-memory comes first
  EXPECT_EQ(memory.scope, "device-memory");
  EXPECT_EQ(memory.pod, "uid-1");
  EXPECT_EQ(memory.pod_volume, "");
  EXPECT_EQ(memory.instance, "main");
  EXPECT_EQ(memory.memory, facts.reports.back().memory);
  EXPECT_EQ(again.instances, (std::vector{facts.instances[1], facts.instances[0]}));  // by name
  const ReportFact& files = again.reports.back();                                     // by time
  EXPECT_EQ(files.job, "job-1");
  EXPECT_EQ(files.scope, "files");
  EXPECT_EQ(files.result, "verified");
  EXPECT_EQ(files.differing, "model.bin bytes 0-1048576");
  EXPECT_EQ(files.location, "pvc://inference/models");
  EXPECT_EQ(files.volume, "pv-1");
  EXPECT_EQ(files.pod, "");
  EXPECT_EQ(again.reports[1].pod, "uid-1");
  EXPECT_EQ(again.reports[1].pod_volume, "cache");
  EXPECT_EQ(files.reported_at, facts.reports.front().reported_at);
  EXPECT_EQ(files.read_since, facts.reports.front().read_since);
  EXPECT_EQ(again.claims, (std::vector{facts.claims[1], facts.claims[0]}));  // by name
  EXPECT_EQ(again.asked_locations, facts.asked_locations);
  EXPECT_EQ(again.pod, "uid-1");
  EXPECT_TRUE(files.worker_measured);
  EXPECT_FALSE(files.device_attested);
  EXPECT_EQ(files.spot_checks, 16U);
  EXPECT_EQ(files.report, facts.reports.front().report);
}

// Decisions from before there were nodes keep their documents.
TEST(NodeFacts, WithoutANode_HaveNoMembersForIt) {
  const Json document = to_json(valid_facts());
  EXPECT_FALSE(document.contains("node"));
  for (const char* member : {"reports", "claims", "asked_locations", "pod", "instances"}) {
    EXPECT_FALSE(document.contains(member)) << member;
  }
  EXPECT_FALSE(to_json(workload()).contains("node"));
}

TEST(NodeFacts, OrderOfReports_DoesNotMatter) {
  Facts other = full_facts();
  std::reverse(other.reports.begin(), other.reports.end());
  EXPECT_EQ(canonical(other), canonical(full_facts()));
}

TEST(NodeFacts, EveryField_ChangesTheDocument) {
  std::vector<Facts> variants(51, full_facts());
  variants[0].node.reset();
  variants[1].node->name = "gpu-2";
  variants[2].node->enrolled_at += std::chrono::milliseconds(1);
  variants[3].node->expires_at += std::chrono::milliseconds(1);
  variants[4].node->revoked.reset();
  variants[5].node->worker_measured = false;
  variants[6].node->appraised_at = now();
  variants[7].node->evidence_type = "other";
  variants[8].node->tcb_status = "OutOfDate";
  variants[9].node->anchor.reset();
  variants[10].node->anchor_is_vendor = false;
  variants[11].node->appraisal.reset();
  variants[12].reports.pop_back();
  variants[13].reports[0].job = "job-9";
  variants[14].reports[0].result = "mismatch";
  variants[15].reports[0].differing.clear();
  variants[16].reports[0].reported_at += std::chrono::milliseconds(1);
  variants[17].reports[0].worker_measured = false;
  variants[18].reports[0].device_attested = true;
  variants[19].reports[0].spot_checks = 17;
  variants[20].reports[0].location = "hostpath:///data";
  variants[21].reports[0].volume.clear();
  variants[22].reports[0].read_since += std::chrono::milliseconds(1);
  variants[23].reports[1].pod = "uid-2";
  variants[24].reports[1].pod_volume = "more";
  variants[25].claims[0].volume = "pv-2";
  variants[26].asked_locations.clear();
  variants[27].pod.clear();
  variants[28].node->appraisal_policy.reset();
  variants[29].node->appraisal_current = false;
  variants[30].node->appraisal_error.clear();
  variants[31].reports[0].appraisal_current = false;
  variants[32].reports[2].instance = "draft";
  variants[33].reports[2].memory.reset();
  variants[34].reports[2].memory->world = 2;
  variants[35].reports[2].memory->in_place = 1;
  variants[36].reports[2].memory->staged = 1;
  variants[37].reports[2].memory->registered = 1;
  variants[38].reports[2].memory->uncovered = 1;
  variants[39].reports[2].memory->device_bytes.reset();
  variants[40].reports[2].memory->redrawn = 1;
  variants[41].instances.pop_back();
  variants[42].instances[0].state = "violated";
  variants[43].instances[0].heard_at += std::chrono::milliseconds(1);
  variants[44].reports[2].memory->on_devices = 1;
  variants[45].reports[0].evidence_valid_until = now();
  variants[46].reports[2].memory->read_by.clear();
  variants[47].reports[2].memory->read_by[0].pci.clear();
  variants[48].instances[0].findings.clear();
  variants[49].instances[0].watch.reset();
  variants[50].instances[0].watch->check = WatchCheck::kSha256;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    EXPECT_NE(canonical(variants[i]), canonical(full_facts())) << i;
  }
}

TEST(NodeFacts, WhatPeopleAreToldOfMemory_ChangesTheDocument) {
  std::vector<Facts> variants(8, full_facts());
  variants[0].reports[2].memory->staged_causes.pop_back();
  variants[1].reports[2].memory->detection = 1;
  variants[2].reports[2].memory->uncovered_count.reset();
  variants[3].reports[2].memory->check.clear();
  variants[4].reports[2].memory->layout.reset();
  variants[5].reports[2].memory->layout->kind = LayoutKind::kPublished;
  variants[6].reports[2].memory->layout->digest.back() = '2';
  variants[7].reports[2].memory->layout->by_table = false;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    EXPECT_NE(canonical(variants[i]), canonical(full_facts())) << i;
  }
}

// Every object of the document refuses a member more, less or of another type.
void refuse_mutations(const Json& document, const char* path) {
  const Json::json_pointer place(path);
  const std::set<std::string> optional = {"revoked",      "evidence",
                                          "anchor",       "appraisal",
                                          "differing",    "report",
                                          "volume",       "policy",
                                          "error",        "memory",
                                          "instance",     "pod",
                                          "device_bytes", "evidence_valid_until",
                                          "read_by",      "staged_causes",
                                          "detection",    "uncovered_count",
                                          "layout"};
  const bool of_memory = std::string_view(path).ends_with("/memory");
  for (const auto& [name, value] : document[place].items()) {
    Json without = document;
    without[place].erase(name);
    const bool may_lack = optional.contains(name) || (of_memory && name == "check");
    EXPECT_EQ(facts_from_json(without).has_value(), may_lack) << path << " " << name;
    Json mistyped = document;
    mistyped[place][name] = Json::array({true});
    EXPECT_FALSE(facts_from_json(mistyped).has_value()) << path << " " << name;
  }
  Json extra = document;
  extra[place]["surprise"] = 1;
  const auto refused = facts_from_json(extra);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnknownMember);
  EXPECT_EQ(refused.error().where, std::string(path) + "/surprise");
}

TEST(NodeFacts, MissingUnknownOrMistypedMember_IsRefused) {
  const Json document = to_json(full_facts());
  for (const char* place : {"/node", "/node/evidence", "/node/revoked", "/reports/0", "/reports/1",
                            "/reports/2", "/reports/0/memory", "/reports/0/memory/read_by/0",
                            "/instances/1/findings/0", "/instances/1/watch"}) {
    refuse_mutations(document, place);
  }
}

TEST(NodeFacts, MembersOfInstances_AreAllRequired) {
  const Json document = to_json(full_facts());
  for (const char* place : {"/instances/0", "/reports/0/instance"}) {
    const Json::json_pointer pointer(place);
    for (const auto& [name, value] : document[pointer].items()) {
      Json without = document;
      without[pointer].erase(name);
      EXPECT_FALSE(facts_from_json(without)) << place << name;
      Json mistyped = document;
      mistyped[pointer][name] = 1;
      EXPECT_FALSE(facts_from_json(mistyped)) << place << name;
    }
    Json extra = document;
    extra[pointer]["surprise"] = 1;
    EXPECT_FALSE(facts_from_json(extra)) << place;
  }
}

TEST(NodeFacts, BadValues_AreRefusedWithTheirCode) {
  const std::vector<std::tuple<const char*, Json, ErrorCode>> cases = {
      {"/node", nullptr, ErrorCode::kSchemaViolation},
      {"/node/enrolled_at", "yesterday", ErrorCode::kInvalidTime},
      {"/node/evidence/anchor", "sha256:00", ErrorCode::kInvalidDigest},
      {"/node/worker_measured", 1, ErrorCode::kSchemaViolation},
      {"/reports", Json::object(), ErrorCode::kSchemaViolation},
      {"/reports/0/spot_checks", -1, ErrorCode::kSchemaViolation},
      {"/reports/0/report", "x", ErrorCode::kInvalidDigest}};
  for (const auto& [place, value, code] : cases) {
    Json document = to_json(full_facts());
    document[Json::json_pointer(place)] = value;
    const auto refused = facts_from_json(document);
    ASSERT_FALSE(refused.has_value()) << place;
    EXPECT_EQ(refused.error().code, code) << place;
    EXPECT_EQ(refused.error().where, place);
  }
}

TEST(WorkloadDocument, RoundTrip_KeepsEveryField) {
  const Workload on_node = workload_on_node();
  const auto again = workload_from_json(to_json(on_node));
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->name_space, on_node.name_space);
  EXPECT_EQ(again->labels, on_node.labels);
  EXPECT_EQ(again->resources, on_node.resources);
  EXPECT_EQ(again->node, "gpu-1");
  EXPECT_EQ(workload_from_json(to_json(workload()))->node, "");
}

TEST(WorkloadDocument, OtherShapes_AreRefused) {
  const Json good = to_json(workload_on_node());
  for (const char* member : {"namespace", "labels", "resources"}) {
    Json without = good;
    without.erase(member);
    EXPECT_FALSE(workload_from_json(without)) << member;
  }
  for (const auto& [name, value] : good.items()) {
    Json mistyped = good;
    mistyped[name] = 7;
    EXPECT_FALSE(workload_from_json(mistyped)) << name;
  }
  Json label = good;
  label["labels"]["app"] = 7;
  EXPECT_FALSE(workload_from_json(label));
  Json extra = good;
  extra["zone"] = "a";
  EXPECT_EQ(workload_from_json(extra).error().code, ErrorCode::kUnknownMember);
  EXPECT_FALSE(workload_from_json(nullptr));
}

}  // namespace
}  // namespace assay::policy::test
