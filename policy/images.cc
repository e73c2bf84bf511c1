// SPDX-License-Identifier: Apache-2.0
// An image of one's own can hold a model of one's own.
#include <algorithm>

#include "policy/glob.h"
#include "policy/volumes.h"

namespace assay::policy {

bool has_one_name(std::string_view image) { return std::ranges::count(image, '@') <= 1; }

ConditionResult judge_images(const PolicyDocument& policy, const Workload& workload) {
  std::vector<std::string> others;
  for (const ContainerImage& one : workload.images) {
    if (!has_one_name(one.image) || !any_glob_matches(policy.images, one.image)) {
      others.push_back(one.container + ": " + one.image);
    }
  }
  ConditionResult result{"images", Outcome::kPass, {}, shown_texts(policy.images), nullptr, {}, {}};
  if (!others.empty()) {
    result.outcome = Outcome::kFail;
    result.code = Reason::kImageNotAllowed;
    result.actual = shown_texts(others);
  } else if (workload.images.empty()) {
    result.outcome = Outcome::kError;  // a pod without containers was not read right
    result.code = Reason::kConditionUndecided;
  }
  return result;
}

}  // namespace assay::policy
