// SPDX-License-Identifier: Apache-2.0
// What the most expensive reviews that are let in cost: pods at the limits of pod_volumes.h and
// review.h, read, judged by one policy and written as they are kept. CPU time, the best of some
// runs, one line a shape. Exit code 1 when one is refused or takes more than 50 ms; with
// --print-only the time does not count (a build without optimisation).
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/evaluate.h"
#include "schemas/core/json_foreign.h"
#include "schemas/core/sha.h"
#include "server/service/kubernetes/pod.h"
#include "server/service/kubernetes/pod_volumes.h"
#include "server/service/kubernetes/review.h"
#include "server/service/kubernetes/review_patch.h"

namespace assay::server {
namespace {

constexpr double kBarMilliseconds = 50;
constexpr int kRuns = 5;
const std::string kFiller = "sha256:" + std::string(64, '6');

double cpu_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

Json container(const std::string& name, Json mounts) {
  return {{"name", name},
          {"image", "registry.example.com/x@" + kFiller},
          {"volumeMounts", std::move(mounts)}};
}

Json mount(const std::string& volume, const std::string& path) {
  return {{"name", volume}, {"mountPath", path}, {"readOnly", true}};
}

// A pod whose volume "v0" an init container fills, so that all its mounts are of a model.
Json pod(Json containers, Json volumes) {
  volumes.push_back({{"name", "v0"}, {"emptyDir", Json::object()}});
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", "llm-0"}, {"uid", "uid-1"}}},
          {"spec",
           {{"containers", std::move(containers)},
            {"initContainers", Json::array({container("fill", Json::array({mount("v0", "/m")}))})},
            {"volumes", std::move(volumes)}}}};
}

std::string review_of(const Json& object, const Json& old) {
  return Json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"request",
               {{"uid", "705ab4f5-6393-11e8-b7cc-42010a800002"},
                {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
                {"namespace", "inference"},
                {"name", "llm-0"},
                {"operation", old.is_null() ? "CREATE" : "UPDATE"},
                {"object", object},
                {"oldObject", old}}}}
      .dump();
}

// Other claims, one mount each.
Json many_claims() {
  Json volumes = Json::array();
  Json mounts = Json::array();
  for (std::size_t i = 1; i < kMaxPodVolumes; ++i) {
    const std::string name = "v" + std::to_string(i);
    volumes.push_back({{"name", name}, {"persistentVolumeClaim", {{"claimName", name}}}});
    if (mounts.size() + 1 < kMaxPodMounts) {
      mounts.push_back(mount(name, "/models/" + name));
    }
  }
  return pod(Json::array({container("c", mounts)}), volumes);
}

// As many mounts of the model below each other as paths may have bytes.
Json deep_paths() {
  std::string deep;
  while (deep.size() + 2 <= kMaxMountPath - 8 && deep.size() / 2 + 2 < kMaxPathParts) {
    deep += "/a";
  }
  Json mounts = Json::array();
  for (std::size_t i = 0; mounts.size() + 2 < kMaxPodMounts; ++i) {
    const std::string path = deep + "/" + std::to_string(i);
    if ((i + 2) * (path.size() + 4) > kMaxPathBytes) {
      break;
    }
    mounts.push_back(mount("v0", path));
  }
  return pod(Json::array({container("c", mounts)}), Json::array());
}

Json many_containers() {
  const std::size_t each = std::max<std::size_t>(1, kMaxPodMounts / kMaxPodContainers);
  Json containers = Json::array();
  for (std::size_t i = 0; i + 1 < kMaxPodContainers; ++i) {
    Json mounts = Json::array();
    for (std::size_t m = 0; m < each && i * each + m + 1 < kMaxPodMounts; ++m) {
      mounts.push_back(mount("v0", "/m" + std::to_string(m)));
    }
    std::string name(240, 'n');
    containers.push_back(container(name + std::to_string(i), mounts));
  }
  return pod(containers, Json::array());
}

// Directories of the node, each of which is looked at as a way to a device.
Json host_paths() {
  Json volumes = Json::array();
  Json mounts = Json::array();
  for (std::size_t i = 1; i < std::min(kMaxPodVolumes, kMaxPodMounts - 1); ++i) {
    const std::string name = "v" + std::to_string(i);
    volumes.push_back({{"name", name}, {"hostPath", {{"path", "/dev/d/" + name}}}});
    mounts.push_back(mount(name, "/h/" + name));
  }
  return pod(Json::array({container("c", mounts)}), volumes);
}

// The same with paths as deep as their limit allows.
Json deep_host_paths(const std::string& top) {
  const std::size_t count = std::min(kMaxPodVolumes, kMaxPodMounts - 1) - 1;
  const std::size_t each = kMaxPathBytes / count - 8;
  std::string deep;
  while (deep.size() + 2 <= each && deep.size() / 2 + 3 < kMaxPathParts) {
    deep += "/a";
  }
  Json volumes = Json::array();
  Json mounts = Json::array();
  for (std::size_t i = 1; i < count; ++i) {
    const std::string name = "v" + std::to_string(i);
    volumes.push_back({{"name", name}, {"hostPath", {{"path", top + "/" + name}}}});
    mounts.push_back(mount(name, deep + "/" + name));
  }
  return pod(Json::array({container("c", mounts)}), volumes);
}

// `count` texts of `bytes` in all under a member of the metadata.
Json many_texts(const char* member, std::size_t count, std::size_t bytes) {
  Json made = pod(Json::array({container("c", Json::array())}), Json::array());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = std::string(kAnnotationPrefix) + std::to_string(10'000 + i);
    made["metadata"][member][name] = std::string(bytes / count - name.size(), '/');
  }
  return made;
}

// A pod with members that nobody knows. Twice it has as many as a review may have.
Json unknown_members() {
  Json made = pod(Json::array({container("c", Json::array())}), Json::array());
  for (std::size_t i = 10'000; 2 * json_memory(made) < kMaxReviewMemory - 200'000;) {
    for (const std::size_t next = i + 500; i < next; ++i) {
      made["k" + std::to_string(i)] = 1;
    }
  }
  return made;
}

// The same with nothing but small values.
Json filler() {
  Json made = pod(Json::array({container("c", Json::array())}), Json::array());
  Json& list = made["metadata"]["managedFields"] = Json::array();
  while (2 * json_memory(made) < kMaxReviewMemory - 200'000) {
    list.insert(list.end(), 100, {{"a", Json::array()}});
  }
  return made;
}

// The same with text of which each character is an escape.
Json escapes() {
  Json made = pod(Json::array({container("c", Json::array())}), Json::array());
  made["metadata"]["managedFields"] = std::string((kMaxReviewBytes / 2 - 2048) / 6, '\x01');
  return made;
}

policy::ActivePolicy policy_in_force() {
  const Json document = {{"name", "bench"},
                         {"version", 1},
                         {"mode", "enforce"},
                         {"match", {{"namespaces", {"*"}}}},
                         {"fill_at_run", {kFiller}},
                         {"require", {{{"id", "published"}, {"manifest", Json::object()}}}}};
  auto parsed = parse_policy(as_bytes(document.dump()));
  if (!parsed) {
    std::fprintf(stderr, "%s\n", to_string(parsed.error()).c_str());
    std::exit(2);
  }
  return {StatementId(sha256(as_bytes("policy"))), *std::move(parsed)};
}

// What tells whether an update changes what is judged.
Status compare(const Review& review, const policy::Workload& now) {
  const auto before = pod_of(review.kind, review.old_object);
  ASSAY_ASSIGN(const policy::Workload then, workload_of(*before, review.name_space));
  return policy::to_json(then).is_null() || policy::to_json(now).is_null()
             ? fail(ErrorCode::kInternal, "no workload")
             : Status();
}

// Everything that a review costs but the store. An Error is a refusal.
Status judge(const std::string& body, const policy::ActivePolicy& policy) {
  ASSAY_ASSIGN(const Review review, parse_review(as_bytes(body)));
  if (review.old_object.is_null()) {
    ASSAY_TRY(check_object_size(review, body.size()));
  } else {
    static_cast<void>(
        check_object_size(review, body.size()));  // what is older than the webhooks is longer
  }
  const auto view = pod_of(review.kind, review.object);
  ASSAY_ASSIGN(policy::Workload workload, workload_of(*view, review.name_space));
  if (!review.old_object.is_null()) {
    ASSAY_TRY(compare(review, workload));
  }
  if (annotation_patch(*view, nullptr).dump().size() > kMaxReviewBytes) {
    return fail(ErrorCode::kInternal, "the patch is longer than a review");
  }
  const policy::Facts nothing;
  const Verdict verdict = policy::evaluate({&policy, 1}, workload, {&nothing, 1}, {},
                                           DecisionPoint::kCreate, Timestamp());
  ASSAY_ASSIGN(const std::string kept, canonical_json(policy::to_json(workload)));
  ASSAY_ASSIGN(const Json again, parse_json(kept));
  ASSAY_TRY(policy::workload_from_json(again));
  return to_json(verdict).is_null() ? fail(ErrorCode::kInternal, "no verdict") : Status();
}

int run(bool print_only) {
  const policy::ActivePolicy policy = policy_in_force();
  const Json claims = many_claims();
  const std::pair<const char*, std::string> shapes[] = {
      {"claims", review_of(claims, nullptr)},
      {"update-of-claims", review_of(claims, claims)},
      {"deep-paths", review_of(deep_paths(), nullptr)},
      {"containers", review_of(many_containers(), nullptr)},
      {"host-paths", review_of(host_paths(), nullptr)},
      {"update-deep-paths", review_of(deep_host_paths("/h"), deep_host_paths("/g"))},
      {"labels", review_of(many_texts("labels", kMaxPodLabels, kMaxPodLabelBytes), nullptr)},
      {"annotations",
       review_of(many_texts("annotations", kMaxPodAnnotations, kMaxPodAnnotationBytes), nullptr)},
      {"unknown-members", review_of(unknown_members(), unknown_members())},
      {"small-values", review_of(filler(), filler())},
      {"escapes", review_of(escapes(), escapes())}};
  int exit_code = 0;
  for (const auto& [name, body] : shapes) {
    double best = 1e9;
    Status status;
    for (int i = 0; i < kRuns && status; ++i) {
      const double start = cpu_milliseconds();
      status = judge(body, policy);
      best = std::min(best, cpu_milliseconds() - start);
    }
    std::printf("%-18s %9zu bytes %8.1f ms%s%s\n", name, body.size(), best, status ? "" : "  ",
                status ? "" : to_string(status.error()).c_str());
    if (!status || (!print_only && best > kBarMilliseconds)) {
      exit_code = 1;
    }
  }
  return exit_code;
}

}  // namespace
}  // namespace assay::server

int main(int argc, char** argv) {
  return assay::server::run(argc > 1 && std::string_view(argv[1]) == "--print-only");
}
