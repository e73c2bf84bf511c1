// SPDX-License-Identifier: Apache-2.0
// An image of one's own can hold a model of one's own.
#include <algorithm>

#include "policy/glob.h"
#include "policy/volumes/volumes.h"

namespace assay::policy {

namespace {

bool is_of_reference(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-:/@[]+").find(c) != std::string_view::npos;
}

}  // namespace

bool has_one_name(std::string_view image) {
  const std::size_t at = image.find('@');
  if (at == 0 || !std::ranges::all_of(image, is_of_reference)) {
    return false;
  }
  if (at == std::string_view::npos) {
    return true;
  }
  const std::string_view digest = image.substr(at + 1);
  const std::size_t colon = digest.find(':');
  // What a runtime would refuse is not taken for a name here (image-spec, "Digests").
  return colon != std::string_view::npos && colon != 0 &&
         digest.find('@') == std::string_view::npos && colon + 1 < digest.size() &&
         std::ranges::all_of(digest.substr(colon + 1), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

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
