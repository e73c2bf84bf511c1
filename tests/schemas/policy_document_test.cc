// SPDX-License-Identifier: Apache-2.0
// Policies: reading, writing, and what is refused.
#include "schemas/policy_document.h"

#include <gtest/gtest.h>

#include "embedded/json_schemas.h"
#include "tests/schemas/samples.h"

namespace assay {
namespace {

using test::bytes_of;
using test::code_of;
using test::where_of;

Json sample() { return Json::parse(embedded::kPolicySchemaJson)["examples"][0]; }

Json with(const char* place, const Json& value) {
  Json json = sample();
  json[Json::json_pointer(place)] = value;
  return json;
}

// A policy whose only condition nests `levels` deep.
Json nested(int levels, const char* kind) {
  Json condition = {{"id", "leaf"}, {"manifest", Json::object()}};
  for (int i = 1; i < levels; ++i) {
    const Json inner = condition;
    condition = {{"id", "n" + std::to_string(i)}};
    condition[kind] = std::string_view(kind) == "not" ? inner : Json::array({inner});
  }
  return with("/require", Json::array({condition}));
}

TEST(Policy, Example_IsReadInFull) {
  const auto policy = parse_policy(bytes_of(sample()));
  ASSERT_TRUE(policy) << to_string(policy.error());
  EXPECT_EQ(policy->name, "prod-llm");
  EXPECT_EQ(policy->version, 1U);
  EXPECT_EQ(policy->mode, PolicyMode::kEnforce);
  EXPECT_EQ(policy->match.namespaces, std::vector<std::string>{"prod-*"});
  EXPECT_TRUE(policy->match.accelerators);
  EXPECT_TRUE(policy->match.resources.empty() && policy->match.labels.empty());
  ASSERT_EQ(policy->require.size(), 6U);
  const auto& manifest = std::get<ManifestCondition>(policy->require[0].kind);
  EXPECT_EQ(manifest.signers.at_least, 2U);
  EXPECT_EQ(manifest.signers.identities.size(), 2U);
  const auto& statement = std::get<StatementCondition>(policy->require[1].kind);
  EXPECT_EQ(statement.predicate_type, "https://assay.dev/lifecycle/v1");
  EXPECT_EQ(statement.stage, "evaluate");
  EXPECT_EQ(statement.quantifier, Quantifier::kLatest);
  EXPECT_EQ(statement.max_age_seconds, 2592000U);
  ASSERT_EQ(statement.where.size(), 1U);
  EXPECT_EQ(statement.where[0].pointer, "/metrics/eval~1accuracy/value");
  EXPECT_EQ(statement.where[0].op, Comparison::kGreaterEqual);
  EXPECT_EQ(statement.where[0].value, 0.9);
  EXPECT_TRUE(std::get<StatementCondition>(policy->require[2].kind).evidence);
  EXPECT_EQ(std::get<ParametersCondition>(policy->require[3].kind).hash,
            std::vector<std::string>{"sha256"});
  const auto& any = std::get<AnyCondition>(policy->require[4].kind);
  ASSERT_EQ(any.of.size(), 2U);
  const auto& negation = std::get<NotCondition>(any.of[1].kind);
  ASSERT_EQ(negation.of.size(), 1U);
  EXPECT_EQ(std::get<StatementCondition>(negation.of[0].kind).where[0].op, Comparison::kIn);
  EXPECT_EQ(std::get<AtLeastCondition>(policy->require[5].kind).count, 2U);
}

TEST(Policy, WhatWasRead_WritesBack) {
  const auto policy = parse_policy(bytes_of(sample()));
  ASSERT_TRUE(policy);
  const Json written = to_json(*policy);
  const auto again = parse_policy(bytes_of(written));
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(to_json(*again), written);
}

TEST(Policy, AbsentParts_HaveSafeDefaults) {
  const Json json = {{"name", "p"},
                     {"version", 1},
                     {"mode", "shadow"},
                     {"match", Json::object()},
                     {"require",
                      {{{"id", "m"}, {"manifest", Json::object()}},
                       {{"id", "s"}, {"statement", {{"predicate_type", "a:b"}}}}}}};
  const auto policy = parse_policy(bytes_of(json));
  ASSERT_TRUE(policy) << to_string(policy.error());
  EXPECT_EQ(std::get<ManifestCondition>(policy->require[0].kind).signers.at_least, 1U);
  const auto& statement = std::get<StatementCondition>(policy->require[1].kind);
  EXPECT_EQ(statement.signers.at_least, 1U);
  EXPECT_EQ(statement.quantifier, Quantifier::kEvery);
  EXPECT_EQ(statement.max_age_seconds, std::nullopt);
}

TEST(Policy, MissingMember_IsRefused) {
  for (const char* member : {"name", "version", "mode", "match", "require"}) {
    Json json = sample();
    json.erase(member);
    EXPECT_EQ(code_of(parse_policy(bytes_of(json))), "schema-violation") << member;
  }
}

TEST(Policy, Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/name", "Prod", "schema-violation"},
      {"/name", "", "schema-violation"},
      {"/name", "prod\n", "schema-violation"},
      {"/version", 0, "schema-violation"},
      {"/version", 1.5, "schema-violation"},
      {"/mode", "off", "schema-violation"},
      {"/require", Json::array(), "schema-violation"},
      {"/match/namespaces", Json::array(), "schema-violation"},
      {"/match/namespaces/0", "Prod*", "schema-violation"},
      {"/match/pods", {"x"}, "unknown-member"},
      {"/require/0/id", "", "schema-violation"},
      {"/require/0/id", "a b", "schema-violation"},
      {"/require/0/statement", {{"predicate_type", "a:b"}}, "schema-violation"},  // two kinds
      {"/require/0/manifest/signers/at_least", 0, "schema-violation"},
      {"/require/0/manifest/signers/identities", Json::array(), "schema-violation"},
      {"/require/1/statement/stage", "*", "schema-violation"},
      {"/require/1/statement/predicate_type", "https://slsa.dev/provenance/v1", "schema-violation"},
      {"/require/1/statement/quantifier", "some", "schema-violation"},
      {"/require/1/statement/max_age_seconds", 0, "schema-violation"},
      {"/require/1/statement/where/0/op", "=", "schema-violation"},
      {"/require/1/statement/where/0/value", "0.9", "schema-violation"},
      {"/require/1/statement/where/0/pointer", "metrics", "schema-violation"},
      {"/require/1/statement/where/0/pointer", "/a~2", "schema-violation"},
      {"/require/1/statement/where/0/pointer", "/a~", "schema-violation"},
      {"/require/3/parameters", Json::object(), "schema-violation"},
      {"/require/3/parameters/hash/0", "md5", "schema-violation"},
      {"/require/3/parameters/chunk_size", {5000}, "schema-violation"},
      {"/require/3/parameters/formats", Json::array(), "schema-violation"},
      {"/require/3/parameters/formats", {"pickle"}, "schema-violation"},
      {"/require/3/parameters/formats", {"onnx", "onnx"}, "schema-violation"},
      {"/require/4/any", Json::array(), "schema-violation"},
      {"/require/5/at_least/count", 0, "schema-violation"},
      {"/require/5/at_least/count", 4, "policy-invalid"},
      {"/require/5/at_least/of", Json::array(), "schema-violation"},
      {"/require/0", {{"id", "x"}, {"node_evidence", Json::object()}}, "unknown-member"},
      {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(code_of(parse_policy(bytes_of(with(place, value)))), code) << place << value;
  }
}

TEST(Policy, ConditionOfNoKind_IsRefused) {
  Json json = sample();
  json["require"][0] = {{"id", "x"}};
  EXPECT_EQ(code_of(parse_policy(bytes_of(json))), "schema-violation");
  json["require"][0] = {{"manifest", Json::object()}};
  EXPECT_EQ(code_of(parse_policy(bytes_of(json))), "schema-violation");
}

TEST(Policy, InAndOrder_NeedTheirKindOfValue) {
  const char* op = "/require/1/statement/where/0/op";
  const char* value = "/require/1/statement/where/0/value";
  for (const char* order : {"<", "<=", ">", ">="}) {
    Json json = with(op, order);
    EXPECT_TRUE(parse_policy(bytes_of(json))) << order;
    for (const Json& wrong : {Json("1"), Json(), Json(true), Json::array({1}), Json::object()}) {
      json[Json::json_pointer(value)] = wrong;
      EXPECT_EQ(code_of(parse_policy(bytes_of(json))), "schema-violation") << order << wrong;
    }
  }
  Json json = with(op, "in");
  EXPECT_EQ(code_of(parse_policy(bytes_of(json))), "schema-violation");
  json[Json::json_pointer(value)] = Json::array();
  EXPECT_EQ(code_of(parse_policy(bytes_of(json))), "schema-violation");
  json[Json::json_pointer(value)] = {1, "two"};
  EXPECT_TRUE(parse_policy(bytes_of(json)));
  for (const char* equality : {"==", "!="}) {
    json[Json::json_pointer(op)] = equality;
    for (const Json& any : {Json("1"), Json(), Json(true), Json::array(), Json::object()}) {
      json[Json::json_pointer(value)] = any;
      EXPECT_TRUE(parse_policy(bytes_of(json))) << equality << any;
    }
  }
}

TEST(Policy, IdUsedTwice_IsInvalidWhereverItStands) {
  Json json = sample();
  json["require"][4]["any"][1]["not"]["id"] = "published";
  const auto parsed = parse_policy(bytes_of(json));
  EXPECT_EQ(code_of(parsed), "policy-invalid");
  EXPECT_EQ(where_of(parsed), "/require/4/any/1/not/id");
}

// A condition of that name would be taken for what every policy demands.
TEST(Policy, ReservedId_IsInvalidWhereverItStands) {
  for (const std::string_view id : kReservedIds) {
    Json json = sample();
    json["require"][4]["any"][1]["not"]["id"] = id;
    const auto parsed = parse_policy(bytes_of(json));
    EXPECT_EQ(code_of(parsed), "policy-invalid") << id;
    EXPECT_EQ(where_of(parsed), "/require/4/any/1/not/id");
    json["require"][4]["any"][1]["not"]["id"] = std::string(id) + "-too";
    EXPECT_EQ(code_of(parse_policy(bytes_of(json))), "ok") << id;
  }
}

TEST(Policy, Levels_EndAt32) {
  EXPECT_TRUE(parse_policy(bytes_of(nested(32, "not"))));
  EXPECT_EQ(code_of(parse_policy(bytes_of(nested(33, "not")))), "policy-invalid");
  // Two levels of JSON each: the limit of JSON itself comes first, and before any recursion.
  EXPECT_TRUE(parse_policy(bytes_of(nested(29, "all"))));
  EXPECT_EQ(code_of(parse_policy(bytes_of(nested(32, "all")))), "limit-exceeded");
  std::string deep;
  for (int i = 0; i < 10000; ++i) {
    deep += R"({"id":"x","all":[)";
  }
  EXPECT_EQ(code_of(parse_policy(as_bytes(deep))), "limit-exceeded");
}

TEST(Policy, Conditions_EndAt1024) {
  Json require = Json::array();
  for (int group = 0; group < 4; ++group) {
    Json all = Json::array();
    for (int i = 0; i < 255; ++i) {
      all.push_back({{"id", "c" + std::to_string(group * 1000 + i)}, {"manifest", Json::object()}});
    }
    require.push_back({{"id", "g" + std::to_string(group)}, {"all", all}});
  }
  EXPECT_TRUE(parse_policy(bytes_of(with("/require", require))));
  require.push_back({{"id", "one-more"}, {"manifest", Json::object()}});
  EXPECT_EQ(code_of(parse_policy(bytes_of(with("/require", require)))), "policy-invalid");
}

TEST(Policy, Patterns_EndAt1024) {
  const Json match = {{"pointer", "/a"}, {"op", "matches"}, {"value", "a"}};
  const auto with_patterns = [&](std::size_t nested, std::size_t plain) {
    Json require = Json::array();
    Json group = Json::array();  // of 16 each
    for (std::size_t i = 0; i < nested / 16; ++i) {
      group.push_back({{"any", "/list"}, {"where", std::vector<Json>(16, match)}});
    }
    for (const Json& where : {group, Json(std::vector<Json>(plain, match))}) {
      require.push_back({{"id", "s" + std::to_string(require.size())},
                         {"statement", {{"predicate_type", "https://x.example/v1"}}}});
      require.back()["statement"]["where"] = where;
    }
    return parse_policy(bytes_of(with("/require", require)));
  };
  const auto most = with_patterns(1008, 16);
  EXPECT_TRUE(most) << to_string(most.error());
  EXPECT_EQ(code_of(with_patterns(1008, 17)), "policy-invalid");
}

TEST(Policy, Values_AreTakenUpToTheirMemoryAndNotBeyond) {
  const auto with_values = [&](std::size_t conditions) {
    const Json test = {{"pointer", "/a"}, {"op", "in"}, {"value", std::vector<Json>(256, "a")}};
    Json require = Json::array();
    for (std::size_t i = 0; i < conditions; ++i) {
      require.push_back({{"id", "s" + std::to_string(i)},
                         {"statement", {{"predicate_type", "https://x.example/v1"}}}});
      require.back()["statement"]["where"] = {test};
    }
    return parse_policy(bytes_of(with("/require", require)));
  };
  EXPECT_TRUE(with_values(120));
  EXPECT_EQ(code_of(with_values(240)), "limit-exceeded");
}

TEST(Policy, TooManyBytes_AreRefusedUnread) {
  std::string text = sample().dump();
  text.insert(1, std::string(1U << 20, ' '));
  EXPECT_EQ(code_of(parse_policy(as_bytes(text))), "limit-exceeded");
}

TEST(PolicyNames, RoundTrip) {
  EXPECT_EQ(name(PolicyMode::kEnforce), "enforce");
  EXPECT_EQ(name(PolicyMode::kWarn), "warn");
  EXPECT_EQ(name(PolicyMode::kShadow), "shadow");
  EXPECT_EQ(name(Quantifier::kEvery), "every");
  EXPECT_EQ(name(Comparison::kIn), "in");
  EXPECT_EQ(name(Comparison::kNotEqual), "!=");
  EXPECT_EQ(name(MountRule::kExact), "exact");
  EXPECT_EQ(name(MountRule::kWithin), "within");
  for (const DecisionPoint point :
       {DecisionPoint::kCreate, DecisionPoint::kBind, DecisionPoint::kServe}) {
    EXPECT_EQ(decision_point_from(name(point)), point);
  }
  EXPECT_EQ(code_of(decision_point_from("start")), "invalid-parameter");
}

TEST(PolicyApproval, RoundTripsAndRefusesChanges) {
  const PolicyApproval approval{PolicyApproval::Action::kDeactivate,
                                StatementId(test::digest_of("policy")), 3};
  const Json json = to_json(approval);
  const auto parsed = parse_policy_approval(bytes_of(json));
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(parsed->action, approval.action);
  EXPECT_EQ(parsed->policy, approval.policy);
  EXPECT_EQ(parsed->sequence, 3U);
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/action", "delete", "schema-violation"},    {"/policy", "prod-llm", "schema-violation"},
      {"/policy", "sha384:00", "schema-violation"}, {"/sequence", 0, "schema-violation"},
      {"/sequence", "3", "schema-violation"},       {"/extra", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    Json changed = json;
    changed[Json::json_pointer(place)] = value;
    EXPECT_EQ(code_of(parse_policy_approval(bytes_of(changed))), code) << place << value;
  }
}

// --- nodes and reports

Json bind_sample() { return Json::parse(embedded::kPolicySchemaJson)["examples"][1]; }

Json bind_with(const char* place, const Json& value) {
  Json json = bind_sample();
  json[Json::json_pointer(place)] = value;
  return json;
}

TEST(Policy, NodeAndReport_AreReadInFull) {
  const auto policy = parse_policy(bytes_of(bind_sample()));
  ASSERT_TRUE(policy) << to_string(policy.error());
  const auto& node = std::get<NodeCondition>(policy->require[0].kind);
  EXPECT_EQ(node.max_evidence_age_seconds, 86400U);
  EXPECT_TRUE(node.worker_measured);
  EXPECT_EQ(node.tcb_status, (std::vector<std::string>{"UpToDate", "SWHardeningNeeded"}));
  ASSERT_EQ(node.anchors.size(), 1U);
  EXPECT_TRUE(Digest::parse(node.anchors[0]));
  const auto& report = std::get<ReportCondition>(policy->require[1].kind);
  EXPECT_EQ(report.scope, "files");
  EXPECT_EQ(report.max_age_seconds, 3600U);
  EXPECT_TRUE(report.worker_measured);
  EXPECT_FALSE(report.device_attested);
  EXPECT_EQ(report.min_spot_checks, 16U);
  const std::map<std::string, std::vector<std::string>> affinity = {
      {"assay.dev/enrolled", {"true"}}, {"zone", {"a", "b"}}};
  EXPECT_EQ(policy->node_affinity, affinity);
  EXPECT_EQ(to_json(*policy), bind_sample());
}

TEST(Policy, EmptyNodeAndReport_AskForAMeasuredWorker) {
  Json json = bind_sample();
  json["require"] = {{{"id", "n"}, {"node", Json::object()}},
                     {{"id", "r"}, {"report", Json::object()}}};
  json.erase("node_affinity");
  const auto policy = parse_policy(bytes_of(json));
  ASSERT_TRUE(policy) << to_string(policy.error());
  const auto& node = std::get<NodeCondition>(policy->require[0].kind);
  EXPECT_FALSE(node.max_evidence_age_seconds);
  EXPECT_TRUE(node.worker_measured);
  EXPECT_TRUE(node.tcb_status.empty() && node.anchors.empty());
  const auto& report = std::get<ReportCondition>(policy->require[1].kind);
  EXPECT_EQ(report.scope, "files");
  EXPECT_FALSE(report.max_age_seconds || report.min_spot_checks || report.device_attested);
  EXPECT_TRUE(report.worker_measured);
  EXPECT_TRUE(policy->node_affinity.empty());
  EXPECT_FALSE(to_json(*policy).contains("node_affinity"));
}

TEST(Policy, NodeAndReport_OptOutsAreKept) {
  Json json = bind_sample();
  json["require"][0]["node"]["worker_measured"] = false;
  json["require"][1]["report"] = {{"scope", "device-memory"},
                                  {"worker_measured", false},
                                  {"device_attested", true},
                                  {"watched", false},
                                  {"in_place", true},
                                  {"max_uncovered_bytes", 0},
                                  {"min_device_percent", 100},
                                  {"min_redrawn", 16},
                                  {"layouts", {"recipe", "exact"}},
                                  {"layout_digests", {"sha256:" + std::string(64, 'a')}}};
  const auto policy = parse_policy(bytes_of(json));
  ASSERT_TRUE(policy) << to_string(policy.error());
  EXPECT_EQ(to_json(*policy), json);
}

TEST(Policy, NodeAndReport_Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/require/0/node/max_evidence_age_seconds", 0, "schema-violation"},
      {"/require/0/node/max_evidence_age_seconds", "1d", "schema-violation"},
      {"/require/0/node/worker_measured", "yes", "schema-violation"},
      {"/require/0/node/tcb_status", Json::array(), "schema-violation"},
      {"/require/0/node/tcb_status/0", "Up to date", "schema-violation"},
      {"/require/0/node/anchors/0", std::string(64, 'a'), "schema-violation"},
      {"/require/0/node/anchors/0", "plugin:sha256:" + std::string(64, 'a'), "schema-violation"},
      {"/require/0/node/anchors/0", "plugin:" + std::string(63, 'a'), "schema-violation"},
      {"/require/0/node/anchors/0", "sha384:" + std::string(96, 'a'), "schema-violation"},
      {"/require/0/node/extra", 1, "unknown-member"},
      {"/require/0/report", Json::object(), "schema-violation"},  // two kinds
      {"/require/1/report/scope", "memory", "schema-violation"},
      {"/require/1/report/max_age_seconds", -1, "schema-violation"},
      {"/require/1/report/device_attested", 1, "schema-violation"},
      {"/require/1/report/min_spot_checks", 0, "schema-violation"},
      {"/require/1/report/extra", 1, "unknown-member"},
      {"/require/1/report/watched", true, "policy-invalid"},  // of files
      {"/require/1/report/in_place", true, "policy-invalid"},
      {"/require/1/report/max_uncovered_bytes", 0, "policy-invalid"},
      {"/require/1/report/min_device_percent", 50, "policy-invalid"},
      {"/require/1/report/min_device_percent", 0, "schema-violation"},
      {"/require/1/report/min_device_percent", 101, "schema-violation"},
      {"/require/1/report/min_redrawn", 16, "policy-invalid"},
      {"/require/1/report/min_redrawn", 0, "schema-violation"},
      {"/require/1/report/layouts", {"exact"}, "policy-invalid"},
      {"/require/1/report/layouts", Json::array(), "schema-violation"},
      {"/require/1/report/layouts", {"exact", "exact"}, "schema-violation"},
      {"/require/1/report/layouts", {"any"}, "schema-violation"},
      {"/require/1/report/layout_digests", {"sha256:" + std::string(64, 'a')}, "policy-invalid"},
      {"/require/1/report/layout_digests", Json::array(), "schema-violation"},
      {"/require/1/report/layout_digests", {"sha256:aa"}, "schema-violation"},
      {"/node_affinity", Json::object(), "schema-violation"},
      {"/node_affinity/zone", "a", "schema-violation"},
      {"/node_affinity/zone", Json::array(), "schema-violation"},
      {"/node_affinity/zone/0", "a b", "schema-violation"},
      {"/node_affinity/zone/0", std::string(64, 'a'), "schema-violation"},
      {"/node_affinity/zone/1", "a", "schema-violation"},  // twice
  };
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(code_of(parse_policy(bytes_of(bind_with(place, value)))), code) << place << value;
  }
}

TEST(Policy, NodeAffinity_LabelsFollowKubernetes) {
  const auto code = [](const std::string& label) {
    Json json = bind_sample();
    json["node_affinity"] = {{label, {"x"}}};
    return code_of(parse_policy(bytes_of(json)));
  };
  for (const std::string label : {"a", "A.b_c-1", "example.com/a", "a.b-c.example/Zone"}) {
    EXPECT_EQ(code(label), "ok") << label;
  }
  EXPECT_EQ(code(std::string(63, 'a')), "ok");
  EXPECT_EQ(code(std::string(253, 'a') + "/" + std::string(63, 'b')), "ok");
  for (const std::string label :
       {"-a", "a-", "a b", "/a", "a/", "a/b/c", "Example.com/a", ".com/a", "a..b/c", "\u00e9"}) {
    EXPECT_EQ(code(label), "policy-invalid") << label;
  }
  EXPECT_EQ(code(std::string(64, 'a')), "policy-invalid");
  EXPECT_EQ(code(std::string(254, 'a') + "/b"), "policy-invalid");
}

TEST(Policy, NodeAffinity_EmptyValue_IsAValue) {
  EXPECT_EQ(code_of(parse_policy(bytes_of(bind_with("/node_affinity/zone/0", "")))), "ok");
}

// --- pods

Json pod_sample() { return Json::parse(embedded::kPolicySchemaJson)["examples"][2]; }

TEST(Policy, PodMembers_AreReadInFull) {
  const auto policy = parse_policy(bytes_of(pod_sample()));
  ASSERT_TRUE(policy) << to_string(policy.error());
  using Texts = std::vector<std::string>;
  EXPECT_EQ(policy->match.namespaces, (Texts{"prod-*", "serving"}));
  EXPECT_EQ(policy->match.exclude_namespaces, Texts{"prod-operators"});
  EXPECT_EQ(policy->match.labels, (std::map<std::string, std::string>{{"tier", "gold"}}));
  EXPECT_EQ(policy->match.resources, Texts{"nvidia.com/*"});
  EXPECT_TRUE(policy->match.accelerators);
  EXPECT_EQ(policy->match.harmless_resources, Texts{"rdma/*"});
  EXPECT_EQ(policy->match.nodes, Texts{"gpu-*"});
  EXPECT_EQ(policy->other_volumes, (Texts{"pvc://prod-*/cache", "nfs"}));
  EXPECT_EQ(policy->images, Texts{"registry.example/serving/*@sha256:*"});
  EXPECT_EQ(policy->mounts, MountRule::kWithin);
  EXPECT_EQ(policy->mount_paths, (Texts{"/models/*", "/srv/.cache"}));
  EXPECT_TRUE(policy->writable_mounts);
  ASSERT_EQ(policy->fill_at_run.size(), 1U);
  EXPECT_TRUE(Digest::parse(policy->fill_at_run[0]));
  ASSERT_EQ(policy->fillers.size(), 1U);
  EXPECT_EQ(policy->fillers[0].command, Texts());
  EXPECT_EQ(policy->fillers[0].args, (Texts{"s3://models/gemma", "/mnt/models"}));
  EXPECT_EQ(to_json(*policy), pod_sample());
}

TEST(Policy, AbsentPodMembers_AreTheStrictOnes) {
  const auto policy = parse_policy(bytes_of(sample()));
  ASSERT_TRUE(policy) << to_string(policy.error());
  EXPECT_TRUE(policy->other_volumes.empty() && policy->images.empty());
  EXPECT_TRUE(policy->fill_at_run.empty() && policy->fillers.empty());
  EXPECT_TRUE(policy->match.nodes.empty());
  EXPECT_TRUE(policy->mount_paths.empty());
  EXPECT_EQ(policy->mounts, MountRule::kExact);
  EXPECT_FALSE(policy->writable_mounts);
  Json spelled = pod_sample();
  spelled["mounts"] = "exact";
  spelled["writable_mounts"] = false;
  const auto strict = parse_policy(bytes_of(spelled));
  ASSERT_TRUE(strict) << to_string(strict.error());
  EXPECT_EQ(strict->mounts, MountRule::kExact);
  EXPECT_FALSE(to_json(*strict).contains("mounts"));
  EXPECT_FALSE(to_json(*strict).contains("writable_mounts"));
}

TEST(Policy, PodMembers_Changes_AreRefused) {
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/match/accelerators", "none", "schema-violation"},
      {"/match/accelerators", true, "schema-violation"},
      {"/match/accelerators", nullptr, "schema-violation"},
      {"/match/exclude_namespaces", Json::array(), "schema-violation"},
      {"/match/exclude_namespaces/0", "Kube", "schema-violation"},
      {"/match/harmless_resources/0", "a b", "schema-violation"},
      {"/match/nodes", Json::array(), "schema-violation"},
      {"/match/nodes/0", "GPU", "schema-violation"},
      {"/match/resources/0", "nvidia.com/gpu?", "schema-violation"},
      {"/match/resources", {"a", "a"}, "schema-violation"},
      {"/other_volumes", Json::array(), "schema-violation"},
      {"/other_volumes/0", "pvc://a b", "schema-violation"},
      {"/other_volumes/0", std::string(513, 'a'), "schema-violation"},
      {"/images", "nginx", "schema-violation"},
      {"/images/0", "", "schema-violation"},
      {"/mounts", "below", "schema-violation"},
      {"/mount_paths", Json::array(), "schema-violation"},
      {"/mount_paths/0", "models", "schema-violation"},
      {"/mount_paths/0", "/", "schema-violation"},
      {"/mount_paths/0", "/*", "schema-violation"},
      {"/mount_paths/0", "/models/", "schema-violation"},
      {"/mount_paths/0", "/models//x", "schema-violation"},
      {"/mount_paths/0", "/models/../x", "schema-violation"},
      {"/mount_paths/0", "/models/.", "schema-violation"},
      {"/writable_mounts", "yes", "schema-violation"},
      {"/fill_at_run", Json::array(), "schema-violation"},
      {"/fill_at_run/0", "registry.example/init:v1", "schema-violation"},
      {"/fill_at_run/0", "sha384:" + std::string(96, 'a'), "schema-violation"},
      {"/fill_at_run/0", "sha256:" + std::string(64, 'a'), "policy-invalid"},
      {"/fillers", Json::array(), "schema-violation"},
      {"/fillers/0/image", "sha256:" + std::string(64, 'a'), "policy-invalid"},
      {"/fillers/0/command", "fill", "schema-violation"},
      {"/fillers/0/command", Json::array({"/bin/$(SHELL)"}), "policy-invalid"},
      {"/fillers/0/args/1", 7, "schema-violation"},
      {"/fillers/0/args/1", "$(TARGET)", "policy-invalid"},
      {"/fillers/0/args/1", "$$(TARGET)", "policy-invalid"},
      {"/fillers/0/args/1", std::string(4097, 'a'), "schema-violation"},
      {"/fillers/0/args", std::vector<std::string>(65, "a"), "schema-violation"},
      {"/fillers/0", {{"image", "sha256:" + std::string(64, 'a')}}, "policy-invalid"},
      {"/fillers/0/env", Json::array(), "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    Json json = pod_sample();
    json[Json::json_pointer(place)] = value;
    EXPECT_EQ(code_of(parse_policy(bytes_of(json))), code) << place << value;
  }
}

// Alone they would look like a rule and be none.
TEST(Policy, HarmlessResources_StandOnlyBesideAccelerators) {
  Json json = pod_sample();
  json["match"].erase("accelerators");
  EXPECT_EQ(code_of(parse_policy(bytes_of(json))), "schema-violation");
  json["match"].erase("harmless_resources");
  EXPECT_EQ(code_of(parse_policy(bytes_of(json))), "ok");
}

}  // namespace
}  // namespace assay
