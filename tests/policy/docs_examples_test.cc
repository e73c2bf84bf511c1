// SPDX-License-Identifier: Apache-2.0
// docs/policies.md and deploy/examples: every example is parsed, evaluated, and comes out as the
// page says.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "policy/conditions/combine.h"
#include "policy/lint.h"
#include "policy/reference_sets.h"
#include "tests/policy/fixture.h"

namespace assay::policy::test {
namespace {

const std::string kRoot = ASSAY_SOURCE_DIR;

std::string read_text(const std::string& path) {
  std::ifstream in(kRoot + "/" + path);
  EXPECT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// A fenced block: the words behind "```json" and its text.
struct Block {
  std::vector<std::string> words;
  std::string text;
};

std::vector<Block> blocks() {
  std::vector<Block> found;
  std::istringstream lines(read_text("docs/policies.md"));
  std::string line;
  bool inside = false;
  while (std::getline(lines, line)) {
    if (!inside && line.starts_with("```json ")) {
      std::istringstream words(line.substr(8));
      found.emplace_back();
      for (std::string word; words >> word;) {
        found.back().words.push_back(word);
      }
      inside = true;
    } else if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      found.back().text += line + "\n";
    }
  }
  return found;
}

std::vector<Block> blocks_of(std::string_view kind) {
  std::vector<Block> found = blocks();
  std::erase_if(found, [&](const Block& block) { return block.words.front() != kind; });
  return found;
}

Facts demo_facts() {
  const Json json = parse_json(read_text("deploy/examples/facts-demo.json")).value();
  return facts_from_json(json).value();
}

Result<PolicyDocument> parse_text(const std::string& text) { return parse_policy(as_bytes(text)); }

// A policy that requires the condition in `text`, and a manifest, so that it believes a name.
Result<PolicyDocument> around(const std::string& text) {
  return parse_text(R"({"name":"example","version":1,"mode":"enforce",)"
                    R"("match":{"namespaces":["prod-*"]},"require":[)" +
                    text + R"(,{"id":"has-a-manifest","manifest":{}}]})");
}

// The reference sets of the page.
ReferenceSets page_sets() {
  ReferenceSets sets;
  for (const Block& block : blocks_of("reference-set")) {
    const auto set = parse_reference_set(as_bytes(block.text));
    EXPECT_TRUE(set) << to_string(set.error()) << "\n" << block.text;
    sets.emplace(set->name, ActiveSet{statement_id(900 + sets.size()), *set});
  }
  return sets;
}

// The page's workload goes to the node of the facts.
Verdict decide_at_bind(const PolicyDocument& policy, const Workload& asker = workload_on_node()) {
  return evaluate(std::vector{with_sets(statement_id(1), policy, page_sets())}, asker,
                  one(demo_facts()), {}, DecisionPoint::kBind, now());
}

ConditionResult judge_example(const std::string& text) {
  const auto policy = around(text);
  EXPECT_TRUE(policy) << to_string(policy.error()) << "\n" << text;
  return decide_at_bind(policy.value()).policies.front().conditions.front();
}

// An instance of the page's workload was verified in place, is watched, and has a small buffer that
// it did not register.
ConditionResult judge_served(const std::string& text) {
  const auto policy = around(text);
  EXPECT_TRUE(policy) << to_string(policy.error()) << "\n" << text;
  Facts facts = demo_facts();
  facts.reports.push_back(memory_report_fact());
  facts.reports.back().memory->uncovered = 4096;
  facts.instances = {{"main", "verified", from_now(-2)}};
  return evaluate(std::vector{active(policy.value())}, workload_on_node(), one(facts), {},
                  DecisionPoint::kServe, now())
      .policies.front()
      .conditions.front();
}

TEST(PolicyPage, ServedExamples_ComeOutAsWritten) {
  const std::vector<Block> examples = blocks_of("served");
  EXPECT_GE(examples.size(), 4U);
  std::string all;
  for (const Block& example : examples) {
    const ConditionResult result = judge_served(example.text);
    EXPECT_EQ(name(result.outcome), example.words.at(1)) << example.text;
    const std::string code = example.words.size() > 2 ? example.words[2] : "";
    EXPECT_EQ(result.code ? info(*result.code).code : "", code) << example.text;
    all += example.text;
  }
  for (const char* word :
       {"\"in_place\"", "\"max_uncovered_bytes\"", "\"min_device_percent\"", "\"min_redrawn\""}) {
    EXPECT_NE(all.find(word), std::string::npos) << word;
  }
}

TEST(PolicyPage, ConditionExamples_ComeOutAsWritten) {
  const std::vector<Block> examples = blocks_of("condition");
  EXPECT_GE(examples.size(), 15U);
  for (const Block& example : examples) {
    const ConditionResult result = judge_example(example.text);
    EXPECT_EQ(name(result.outcome), example.words.at(1)) << example.text;
    const std::string code = example.words.size() > 2 ? example.words[2] : "";
    EXPECT_EQ(result.code ? info(*result.code).code : "", code) << example.text;
  }
}

TEST(PolicyPage, ConditionExamples_ShowEveryKindQuantifierAndMember) {
  std::string all;
  for (const Block& example : blocks_of("condition")) {
    all += example.text;
  }
  for (const char* word : {"\"manifest\"",
                           "\"statement\"",
                           "\"parameters\"",
                           "\"all\"",
                           "\"any\"",
                           "\"not\"",
                           "\"at_least\": {",
                           "\"latest\"",
                           "\"max_age_seconds\"",
                           "\"identities\"",
                           "\"where\"",
                           "\"hash\"",
                           "\"chunk_size\"",
                           "\"node\"",
                           "\"report\"",
                           "\"max_evidence_age_seconds\"",
                           "\"tcb_status\"",
                           "\"anchors\"",
                           "\"scope\"",
                           "\"min_spot_checks\"",
                           "\"device_attested\""}) {
    EXPECT_NE(all.find(word), std::string::npos) << word;
  }
}

TEST(PolicyPage, PolicyExamples_ComeOutAsWritten) {
  const std::vector<Block> examples = blocks_of("policy");
  EXPECT_FALSE(examples.empty());
  for (const Block& example : examples) {
    const auto policy = parse_text(example.text);
    ASSERT_TRUE(policy) << to_string(policy.error());
    const bool allow = example.words.at(1) == "allow";
    EXPECT_EQ(decide(*policy, demo_facts()).allowed, allow);
    EXPECT_EQ(decide_at_bind(*policy).allowed, allow);
  }
}

TEST(PolicyPage, ResultExample_IsWhatEvaluationSays) {
  std::map<std::string, std::string> conditions;
  for (const Block& example : blocks_of("condition")) {
    conditions[parse_json(example.text).value()["id"].get<std::string>()] = example.text;
  }
  const std::vector<Block> results = blocks_of("result");
  EXPECT_FALSE(results.empty());
  for (const Block& result : results) {
    const Json written = parse_json(result.text).value();
    EXPECT_EQ(to_json(judge_example(conditions.at(result.words.at(1)))), written);
  }
}

TEST(PolicyPage, Blocks_AreAllOfAKnownKind) {
  const std::set<std::string> known = {"condition", "served", "policy", "reference-set", "result"};
  for (const Block& block : blocks()) {
    EXPECT_TRUE(known.contains(block.words.front())) << block.words.front();
  }
}

TEST(PolicyPage, TruthTable_IsThatOfTheCode) {
  std::istringstream lines(read_text("docs/policies.md"));
  std::map<std::string, ConditionResult> sample;
  for (const Outcome outcome :
       {Outcome::kPass, Outcome::kFail, Outcome::kError, Outcome::kDeferred}) {
    sample[std::string(name(outcome))].outcome = outcome;
  }
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string bar;
    std::string a;
    std::string b;
    std::string all;
    std::string any;
    std::string negated;
    words >> bar >> a >> bar >> b >> bar >> all >> bar >> any >> bar >> negated >> bar;
    if (!words || !sample.contains(a) || !sample.contains(b)) {
      continue;
    }
    ++rows;
    const std::vector parts = {sample[a], sample[b]};
    EXPECT_EQ(name(combine_all(count(parts))), all) << line;
    EXPECT_EQ(name(combine_any(count(parts))), any) << line;
    EXPECT_EQ(name(negate(sample[a].outcome)), negated) << line;
  }
  EXPECT_EQ(rows, 8);
}

TEST(DeployedExamples, Facts_AreADocumentThatEvaluationReads) {
  const Json json = parse_json(read_text("deploy/examples/facts-demo.json")).value();
  EXPECT_EQ(to_json(demo_facts()), json);
}

std::vector<std::filesystem::path> policy_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/deploy/examples")) {
    if (entry.path().filename().string().starts_with("policy-")) {
      files.push_back(entry.path());
    }
  }
  return files;
}

TEST(DeployedExamples, Policies_AllowTheDemoModel) {
  const Workload lab{"lab-1", {}, {"nvidia.com/gpu"}, "gpu-1"};
  for (const char* file :
       {"policy-signed-only.json", "policy-production.json", "policy-rollout-warn.json",
        "policy-third-party.json", "policy-attested-nodes.json", "policy-serving.json"}) {
    const auto policy = parse_text(read_text(std::string("deploy/examples/") + file));
    ASSERT_TRUE(policy) << file << to_string(policy.error());
    const Verdict verdict =
        decide_at_bind(*policy, matches(policy->match, workload()) ? workload_on_node() : lab);
    EXPECT_TRUE(verdict.allowed) << file << to_json(verdict).dump(1);
    EXPECT_EQ(policy->mode == PolicyMode::kWarn, !verdict.warnings.empty()) << file;
  }
}

// What servers mount to register with the node agent is no model (docs/kubernetes.md).
TEST(DeployedExamples, PolicyForServers_ListsTheSocketsDirectory) {
  const auto policy = parse_text(read_text("deploy/examples/policy-serving.json"));
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->other_volumes, std::vector<std::string>{"hostpath:///run/assay"});
  EXPECT_FALSE(policy->images.empty());
}

// Memory on a GPU that the node agent does not use cannot be verified, and without these parts of
// the driver it has neither OpenCL nor NVML.
TEST(DeployedExamples, NodeAgent_UsesAllGpusOfItsNode) {
  const std::string manifest = read_text("deploy/kubernetes/node-agent.yaml");
  for (const char* line : {"- --device=opencl:all", "- {name: NVIDIA_VISIBLE_DEVICES, value: all}",
                           "- {name: NVIDIA_DRIVER_CAPABILITIES, value: \"compute,utility\"}"}) {
    EXPECT_NE(manifest.find(" " + std::string(line) + "\n"), std::string::npos) << line;
  }
}

TEST(DeployedExamples, Policies_HaveNoWarningsButThoseOfTheirMode) {
  EXPECT_GE(policy_files().size(), 4U);
  for (const auto& file : policy_files()) {
    const auto policy = parse_text(read_text("deploy/examples/" + file.filename().string()));
    ASSERT_TRUE(policy) << file << to_string(policy.error());
    for (const Finding& finding : lint(*policy)) {
      EXPECT_TRUE(finding.level == Finding::Level::kNote || finding.text.starts_with("mode "))
          << file << finding.condition << ": " << finding.text;
    }
  }
}

}  // namespace
}  // namespace assay::policy::test
