// SPDX-License-Identifier: Apache-2.0
// Jobs and reports of scope device-memory, and heartbeats: reading, writing, and what is refused.
#include <gtest/gtest.h>

#include "schemas/validate.h"
#include "tests/schemas/node_samples.h"

namespace assay {
namespace {

using test::bytes_of;
using test::code_of;
using test::sample_heartbeat;
using test::sample_instance;
using test::sample_memory_report;
using test::where_of;

Json changed(Json json, const char* place, const Json& value) {
  json[Json::json_pointer(place)] = value;
  return json;
}

Json without(Json json, const char* member) {
  json.erase(member);
  return json;
}

JobRequest memory_request() {
  return {.artifact = test::sample_artifact(),
          .scope = JobScope::kDeviceMemory,
          .node = "gpu-node-1",
          .location = {},
          .subset = {},
          .instance = sample_instance()};
}

JobLease memory_lease() {
  JobLease lease = test::sample_job_lease();
  lease.scope = JobScope::kDeviceMemory;
  lease.location.clear();
  lease.pod.reset();
  lease.subset.clear();
  lease.instance = JobInstance{"", "main"};
  return lease;
}

TEST(InstanceJob, RoundTrips) {
  const auto request = parse_job_request(bytes_of(to_json(memory_request())));
  ASSERT_TRUE(request) << to_string(request.error());
  EXPECT_EQ(request->instance, sample_instance());
  EXPECT_EQ(to_json(*request), to_json(memory_request()));
  const auto lease = parse_job_lease(bytes_of(to_json(memory_lease())));
  ASSERT_TRUE(lease) << to_string(lease.error());
  EXPECT_EQ(lease->instance, (JobInstance{"", "main"}));
  EXPECT_EQ(to_json(*lease), to_json(memory_lease()));
}

// An instance and scope device-memory need each other, and what names files goes with neither.
TEST(InstanceJob, ChangesAreRefused) {
  const Json request = to_json(memory_request());
  const Json lease = to_json(memory_lease());
  for (const auto& [place, value] : std::initializer_list<std::pair<const char*, Json>>{
           {"/scope", "files"},
           {"/instance/pod", "a/b"},
           {"/instance/pod", "-"},
           {"/instance/instance", ""},
           {"/instance/instance", "Main"},
           {"/instance/instance", "a_b"},
           {"/instance/instance", std::string(64, 'a')},
           {"/location", "pvc://inference/models"},
           {"/pod", {{"uid", "uid-1"}, {"volume", "v"}}},
           {"/subset", {0}}}) {
    EXPECT_EQ(code_of(parse_job_request(bytes_of(changed(request, place, value)))),
              "schema-violation")
        << place << value;
    EXPECT_EQ(code_of(parse_job_lease(bytes_of(changed(lease, place, value)))), "schema-violation")
        << place << value;
  }
  EXPECT_EQ(code_of(parse_job_request(bytes_of(without(request, "instance")))), "schema-violation");
  EXPECT_EQ(code_of(parse_job_lease(bytes_of(without(lease, "instance")))), "schema-violation");
  EXPECT_EQ(code_of(parse_job_request(bytes_of(changed(to_json(test::sample_job_request()),
                                                       "/instance", to_json(sample_instance()))))),
            "schema-violation");
}

// Whoever makes requests from the schema is told so by the schema.
TEST(InstanceJob, SchemaSaysWhatGoesTogether) {
  const Json files = to_json(test::sample_job_request());
  EXPECT_TRUE(validate("job-request", to_json(memory_request())));
  EXPECT_TRUE(
      validate("job-request", changed(to_json(memory_request()), "/subset", Json::array())));
  EXPECT_TRUE(validate("job-request", without(files, "scope")));
  const Json instance = to_json(sample_instance());
  for (const auto& [request, where] : std::initializer_list<std::pair<Json, const char*>>{
           {changed(files, "/instance", instance), "/instance"},
           {changed(without(files, "scope"), "/instance", instance), "/instance"},
           {without(to_json(memory_request()), "instance"), ""},
           {changed(to_json(memory_request()), "/location", "pvc://inference/models"), "/location"},
           {changed(to_json(memory_request()), "/pod", {{"uid", "uid-1"}, {"volume", "v"}}),
            "/pod"},
           {changed(to_json(memory_request()), "/subset", {0}), "/subset"}}) {
    const auto status = validate("job-request", request);
    ASSERT_FALSE(status) << request;
    EXPECT_EQ(status.error().where, where) << request;
  }
}

TEST(MemoryReport, RoundTrips) {
  VerificationReport report = sample_memory_report();
  const auto read = parse_verification_report(bytes_of(to_json(report)));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(*read, report);
  report.instance = JobInstance{"", "a"};
  report.entries.clear();
  report.bytes = 0;
  report.memory = MemoryFacts{};
  EXPECT_EQ(parse_verification_report(bytes_of(to_json(report))), report);
}

Json layout_member(const char* kind) {
  const std::string prefix = std::string_view(kind) == "published" ? "assay-tree-v1-" : "";
  return {
      {"kind", kind}, {"digest", prefix + "sha256:" + std::string(64, 'a')}, {"by_table", false}};
}

TEST(MemoryReport, Layout_ReadsBackTheSame) {
  for (const char* kind : {"recipe", "published"}) {
    const Json json =
        changed(to_json(sample_memory_report()), "/memory/layout", layout_member(kind));
    const auto report = parse_verification_report(bytes_of(json));
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_EQ(name(report->memory->layout->kind), kind);
    EXPECT_EQ(to_json(*report), json);
  }
}

TEST(MemoryReport, LayoutWhoseKindDoesNotFitItsDigest_IsRefused) {
  const Json good = to_json(sample_memory_report());
  for (const Json& layout : {changed(layout_member("published"), "/kind", "recipe"),
                             changed(layout_member("recipe"), "/kind", "published"),
                             changed(layout_member("published"), "/by_table", true)}) {
    EXPECT_EQ(code_of(parse_verification_report(bytes_of(changed(good, "/memory/layout", layout)))),
              "schema-violation")
        << layout;
  }
}

TEST(MemoryReport, ChangesAreRefused) {
  const Json good = to_json(sample_memory_report());
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/scope", "files", "schema-violation"},
      {"/location", "pvc://inference/models", "schema-violation"},
      {"/pod", {{"uid", "uid-1"}, {"volume", "v"}}, "schema-violation"},
      {"/extra_count", 1, "schema-violation"},
      {"/read_protection", to_json(test::sample_protection()), "schema-violation"},
      {"/entries/0", to_json(test::sample_report().entries[0]), "schema-violation"},
      {"/bytes", 4, "schema-violation"},
      {"/instance/instance", "A", "schema-violation"},
      {"/instance/rank", 0, "unknown-member"},
      {"/memory/world", 0, "schema-violation"},
      {"/memory/world", 1025, "schema-violation"},
      {"/memory/containers", {"b", "a"}, "schema-violation"},
      {"/memory/containers", {"a", "a"}, "schema-violation"},
      {"/memory/containers/0", "../a", "schema-violation"},
      {"/memory/devices", {"GPU-2", "GPU-1"}, "schema-violation"},
      {"/memory/staged_causes", Json::array(), "schema-violation"},
      {"/memory/staged_causes/0", "", "schema-violation"},
      {"/memory/in_place", -1, "schema-violation"},
      {"/memory/on_devices", -1, "schema-violation"},
      {"/memory/on_devices", 3, "schema-violation"},  // more than in place
      {"/memory/devices", Json::array(), "schema-violation"},
      {"/memory/uncovered_count", -1, "schema-violation"},
      {"/memory/uncovered_count", nullptr, "schema-violation"},
      {"/memory/device_bytes", "many", "schema-violation"},
      {"/memory/device_bytes", -1, "schema-violation"},
      {"/memory/detection", 1.5, "schema-violation"},
      {"/memory/detection", -0.1, "schema-violation"},
      {"/memory/extra_tensors/0/name", "z", "schema-violation"},
      {"/memory/extra_tensors/1/name", "", "schema-violation"},
      {"/memory/extra_tensor_count", 1, "schema-violation"},
      {"/memory/layout", nullptr, "schema-violation"},
      {"/memory/layout", layout_member("exact"), "schema-violation"},
      {"/memory/layout", changed(layout_member("recipe"), "/digest", "sha256:aa"),
       "schema-violation"},
      {"/memory/layout", changed(layout_member("recipe"), "/by_table", 1), "schema-violation"},
      {"/memory/layout", changed(layout_member("recipe"), "/more", 1), "unknown-member"},
      {"/memory/more", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(code_of(parse_verification_report(bytes_of(changed(good, place, value)))), code)
        << place << value;
  }
  Json hosts = changed(good, "/memory/devices", Json::array());
  hosts["memory"]["on_devices"] = 0;
  EXPECT_EQ(code_of(parse_verification_report(bytes_of(hosts))), "schema-violation");
  hosts["memory"]["device_bytes"] = nullptr;
  EXPECT_TRUE(parse_verification_report(bytes_of(hosts)));
  for (const char* member : {"instance", "memory"}) {
    EXPECT_EQ(code_of(parse_verification_report(bytes_of(without(good, member)))),
              "schema-violation")
        << member;
    EXPECT_EQ(
        code_of(parse_verification_report(bytes_of(changed(
            to_json(test::sample_report()), (std::string("/") + member).c_str(), good[member])))),
        "schema-violation")
        << member;
  }
}

// Devices are named once, in the order of what they read.
TEST(MemoryReport, DevicesThatReadAreNamedRight) {
  const Json good = to_json(sample_memory_report());
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/memory/read_by", Json::array(), "schema-violation"},
      {"/memory/read_by/0/ranks", Json::array(), "schema-violation"},
      {"/memory/read_by/0/ranks", {2}, "schema-violation"},     // there are two
      {"/memory/read_by/0/ranks", {1}, "schema-violation"},     // that of the other device
      {"/memory/read_by/0/ranks", {1, 0}, "schema-violation"},  // not in order
      {"/memory/read_by/1/ranks", {0}, "schema-violation"},
      {"/memory/read_by/0/uuid", "", "schema-violation"},
      {"/memory/read_by/0/pci", "1b:00", "schema-violation"},
      {"/memory/read_by/0/kernel_digest", "sha256:00", "schema-violation"},
      {"/memory/read_by/0/name", nullptr, "schema-violation"},
      {"/memory/read_by/0/node", "gpu-1", "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(code_of(parse_verification_report(bytes_of(changed(good, place, value)))), code)
        << place << value;
  }
  Json two = good;  // in the wrong order
  std::swap(two["memory"]["read_by"][0], two["memory"]["read_by"][1]);
  EXPECT_EQ(code_of(parse_verification_report(bytes_of(two))), "schema-violation");
  Json old = good;  // from before it was said
  old["memory"].erase("read_by");
  EXPECT_TRUE(parse_verification_report(bytes_of(old)));
}

// Causes without staged bytes would say that a copy was made when none was.
TEST(MemoryReport, CausesAndStagedBytesNeedEachOther) {
  VerificationReport report = sample_memory_report();
  report.memory->in_place = 3;
  report.memory->staged = 0;
  const Json json = to_json(report);
  EXPECT_EQ(where_of(parse_verification_report(bytes_of(json))), "/memory/staged_causes");
  report.memory->staged_causes.clear();
  EXPECT_TRUE(parse_verification_report(bytes_of(to_json(report))));
}

// --- heartbeats

TEST(Heartbeat, RoundTrips) {
  for (const bool empty : {false, true}) {
    Heartbeat heartbeat = sample_heartbeat();
    if (empty) {
      heartbeat.instances.clear();
    }
    const auto read = parse_heartbeat(bytes_of(to_json(heartbeat)));
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(*read, heartbeat);
  }
  Heartbeat older = sample_heartbeat();
  older.instances[0].watch.reset();
  EXPECT_EQ(parse_heartbeat(bytes_of(to_json(older))).value(), older);
  const HeartbeatAnswer answer{true, test::sample_nonce(), 7};
  const auto read = parse_heartbeat_answer(bytes_of(to_json(answer)));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(to_json(*read), to_json(answer));
}

TEST(Heartbeat, ChangesAreRefused) {
  const Json good = to_json(sample_heartbeat());
  const std::tuple<const char*, Json, const char*> changes[] = {
      {"/node", "GPU", "schema-violation"},
      {"/session", "00", "schema-violation"},
      {"/sequence", 0, "schema-violation"},
      {"/instances/0/report", nullptr, "schema-violation"},  // verified by none
      {"/instances/0/report", "sha256:00", "schema-violation"},
      {"/instances/0/state", "fine", "schema-violation"},
      {"/instances/0/findings", {{{"tensor", "a"}, {"detail", "b"}}}, "schema-violation"},
      {"/instances/2/findings", Json::array(), "schema-violation"},
      {"/instances/2/findings/0/tensor", std::string(257, 'a'), "schema-violation"},
      {"/instances/2/findings/0/detail", nullptr, "schema-violation"},
      {"/instances/2/findings/0/kind", "changed", "unknown-member"},
      {"/instances/0/state", "unknown", "schema-violation"},  // and watched
      {"/instances/0/watch", nullptr, "schema-violation"},
      {"/instances/0/watch/check", "full", "schema-violation"},
      {"/instances/0/watch/check", "tags", "schema-violation"},  // of a share
      {"/instances/0/watch/share_percent", 100, "schema-violation"},
      {"/instances/0/watch/share_percent", 0, "schema-violation"},
      {"/instances/0/watch/period_ms", 99, "schema-violation"},
      {"/instances/0/watch/period_ms", 60001, "schema-violation"},
      {"/instances/0/watch/slices", 9, "unknown-member"},
      {"/instances/0/pod", "pod-2", "schema-violation"},   // out of order
      {"/instances/2/instance", "a", "schema-violation"},  // twice
      {"/instances/1/artifact", "sha256:00", "schema-violation"},
      {"/instances/1/rank", 0, "unknown-member"},
      {"/more", 1, "unknown-member"}};
  for (const auto& [place, value, code] : changes) {
    EXPECT_EQ(code_of(parse_heartbeat(bytes_of(changed(good, place, value)))), code)
        << place << value;
  }
  const std::string text = good.dump();
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_heartbeat(as_bytes(text.substr(0, size)))) << size;
  }
}

TEST(Heartbeat, MoreInstancesThanAnAgentHasAreRefused) {
  Heartbeat heartbeat = sample_heartbeat();
  const InstanceBeat one = heartbeat.instances[1];
  heartbeat.instances.clear();
  for (std::size_t i = 0; i < kMaxBeatInstances; ++i) {
    heartbeat.instances.push_back(one);
    heartbeat.instances.back().instance.instance = std::to_string(100 + i);
  }
  EXPECT_TRUE(parse_heartbeat(bytes_of(to_json(heartbeat))));
  heartbeat.instances.push_back(one);
  EXPECT_EQ(code_of(parse_heartbeat(bytes_of(to_json(heartbeat)))), "schema-violation");
}

}  // namespace
}  // namespace assay
