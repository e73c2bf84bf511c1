// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/review.h"

#include "schemas/core/json_foreign.h"
#include "server/service/kubernetes/pod.h"
#include "server/service/kubernetes/requester.h"

namespace assay::server {
namespace {

// The API server's own objects nest deeper than our documents.
constexpr JsonLimits kReviewLimits{
    .max_bytes = kMaxReviewBytes, .max_depth = 128, .max_memory = kMaxReviewMemory};
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

// How many bytes a character takes beyond its own in the JSON of the API server. Go's encoding/json
// also escapes the characters <, > and &, which have a meaning in HTML.
std::size_t escape_bytes(const std::string& text, std::size_t at) {
  const auto one = static_cast<unsigned char>(text[at]);
  if (one == '"' || one == '\\' || one == '\n' || one == '\r' || one == '\t' || one == '\b' ||
      one == '\f') {
    return 1;
  }
  if (one < 0x20 || one == '<' || one == '>' || one == '&') {
    return 5;
  }
  const bool line_end = one == 0xE2 && (text.compare(at, 3, "\xE2\x80\xA8") == 0 ||
                                        text.compare(at, 3, "\xE2\x80\xA9") == 0);
  return line_end ? 3 : 0;
}

std::size_t written_bytes(const std::string& text) {
  std::size_t bytes = 2 + text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    bytes += escape_bytes(text, i);
  }
  return bytes;
}

// Bytes of a value as the API server writes it.
std::size_t written_bytes(const Json& value) {
  if (value.is_string()) {
    return written_bytes(value.get_ref<const std::string&>());
  }
  if (!value.is_structured()) {
    return value.dump().size();
  }
  std::size_t bytes = value.empty() ? 2 : 1 + value.size();
  if (value.is_array()) {
    for (const Json& item : value) {
      bytes += written_bytes(item);
    }
    return bytes;
  }
  for (const auto& [name, member] : value.items()) {
    bytes += written_bytes(name) + 1 + written_bytes(member);
  }
  return bytes;
}

Status check_size(const Review& review, std::size_t bytes, std::size_t most_bytes,
                  std::size_t most_memory) {
  // The old object is looked at only when that can change the answer.
  const auto fits = [&review](std::size_t most, std::size_t growth, std::size_t grown, auto size) {
    const std::size_t now = size(review.object);
    return now <= most || now <= size(review.old_object) + (now <= grown ? growth : 0);
  };
  const bool is_short =
      bytes <= most_bytes || fits(most_bytes, kMaxGrowthBytes, kMaxGrownBytes,
                                  [](const Json& object) { return written_bytes(object); });
  if (is_short && fits(most_memory, kMaxGrowthMemory, kMaxGrownMemory, json_memory)) {
    return {};
  }
  return fail(ErrorCode::kLimitExceeded,
              "the object is longer than " + std::to_string(most_bytes >> 10U) +
                  " KiB, or has too many values; an update that makes it shorter is let in");
}

}  // namespace

Status check_object_size(const Review& review, std::size_t bytes) {
  return check_size(review, bytes, kMaxObjectBytes, kMaxObjectMemory);
}

Status check_unselected_size(const Review& review, std::size_t bytes) {
  return check_size(review, bytes, kMaxUnselectedBytes, kMaxUnselectedMemory);
}

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
