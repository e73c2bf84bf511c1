// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/review.h"

#include "schemas/core/json_foreign.h"
#include "server/service/kubernetes/pod.h"
#include "server/service/kubernetes/requester.h"

namespace assay::server {
namespace {

// The API server's own objects nest deeper than our documents.
constexpr JsonLimits kReviewLimits{.max_bytes = kMaxReviewBytes, .max_depth = 128};
constexpr std::size_t kMaxReviewUid = 256;

std::unexpected<Error> malformed(const char* why) {
  return fail(ErrorCode::kMalformedAdmissionReview, why);
}

// The member itself, which is not looked at again: objects are large.
Json take(Json& request, std::string_view name) {
  const auto found = request.find(name);
  return found != request.end() ? std::move(*found) : Json();
}

std::optional<std::vector<std::string>> groups_in(const Json& user) {
  const Json& list = member_at(user, "groups");
  if (!list.is_array() || list.size() > kMaxUserGroups) {
    return std::nullopt;
  }
  std::vector<std::string> groups;
  std::size_t bytes = 0;
  for (const Json& group : list) {
    bytes += group.is_string() ? group.get_ref<const std::string&>().size() : kMaxGroupBytes + 1;
    if (bytes > kMaxGroupBytes) {
      return std::nullopt;
    }
    groups.push_back(group.get<std::string>());
  }
  return groups;
}

}  // namespace

std::string clip(std::string text, std::size_t limit) {
  if (text.size() > limit) {
    text.resize(limit);
    while (!text.empty() && !is_utf8(text)) {
      text.pop_back();
    }
  }
  return text;
}

bool has_our_annotations(const Json& object) {
  const Json& annotations = member_at(member_at(object, "metadata"), "annotations");
  if (!annotations.is_object()) {
    return false;
  }
  for (const auto& [name, value] : annotations.items()) {
    if (name.starts_with(kAnnotationPrefix)) {
      return true;
    }
  }
  return false;
}

ReviewSubject subject_of(const Review& review) {
  if (review.group.empty() && review.kind == "Binding") {
    return ReviewSubject::kBinding;
  }
  if (review.group.empty() && review.kind == "PersistentVolumeClaim") {
    return ReviewSubject::kClaim;
  }
  if (review.kind == "Pod") {
    return ReviewSubject::kPod;
  }
  return pod_of(review.kind, review.object) ? ReviewSubject::kTemplate : ReviewSubject::kOther;
}

Result<Review> parse_review(ByteView body) {
  ASSAY_ASSIGN(Json json, parse_foreign_json(body, kReviewLimits));
  if (text_at(json, "apiVersion") != "admission.k8s.io/v1" ||
      text_at(json, "kind") != "AdmissionReview") {
    return malformed("apiVersion must be admission.k8s.io/v1 and kind AdmissionReview");
  }
  Json request = member_at(json, "request").is_object() ? take(json, "request") : Json();
  std::string uid = text_at(request, "uid");
  if (uid.empty() || uid.size() > kMaxReviewUid) {
    return malformed("the review has no request with a uid");
  }
  const Json& dry_run = member_at(request, "dryRun");
  return Review{.uid = std::move(uid),
                .group = text_at(member_at(request, "kind"), "group"),
                .kind = text_at(member_at(request, "kind"), "kind"),
                .name_space = text_at(request, "namespace"),
                .object_name = text_at(request, "name"),
                .operation = text_at(request, "operation"),
                .user = text_at(member_at(request, "userInfo"), "username"),
                .groups = groups_in(member_at(request, "userInfo")),
                .object = take(request, "object"),
                .old_object = take(request, "oldObject"),
                .dry_run = dry_run.is_boolean() && dry_run.get<bool>()};
}

}  // namespace assay::server
