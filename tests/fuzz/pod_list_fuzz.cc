// SPDX-License-Identifier: Apache-2.0
// What the node agent reads from an API server and from decisions. Every pod that is taken is of
// the node that was asked for, and its patch names that pod and one condition. An answer about a
// decision is taken for the question alone.
#include <cstdlib>

#include "schemas/core/json_at.h"
#include "schemas/job.h"
#include "worker/pod_conditions.h"
#include "worker/service.h"

namespace {

using namespace assay;

void check_that(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void check_pod(const worker::GatedPod& pod) {
  check_that(check_pod_uid(pod.uid).has_value());
  check_that(pod.name.find_first_of("/?#% ") == std::string::npos && pod.name != "..");
  const worker::PodCondition shown = pod.shown.value_or(worker::PodCondition{});
  // Texts of a pod are no texts of ours: the agent writes its own.
  const Json patch =
      parse_json(worker::condition_patch(pod, {"False", "Denied", shown.message}, {})).value();
  check_that(text_at(object_at(patch, "metadata"), "uid") == pod.uid && patch.size() == 2);
  check_that(object_at(patch, "status").size() == 1 &&
             array_at(object_at(patch, "status"), "conditions").size() == 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  if (const auto pods = worker::gated_pods(bytes, "node-1")) {
    for (const worker::GatedPod& pod : *pods) {
      check_pod(pod);
    }
  }
  if (const auto json = parse_json(bytes)) {
    const worker::ServeQuestion question{"west", "5f1d0c52", "node-1", false};
    const auto answer = worker::serve_answer_from_json(*json, question);
    check_that(!answer || !answer->allowed ||
               text_at(object_at(object_at(*json, "decision"), "request"), "pod_uid") ==
                   question.pod);
  }
  return 0;
}
