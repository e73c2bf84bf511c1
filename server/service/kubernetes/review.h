// SPDX-License-Identifier: Apache-2.0
// An AdmissionReview v1 as the API server sends it, read and bounded, not judged.
#pragma once

#include <string>
#include <string_view>

#include "server/service/json_at.h"

namespace assay::server {

// Longest review. An update has the object twice; the API server's own objects are far smaller.
inline constexpr std::size_t kMaxReviewBytes = 1U << 20;

// Longest name or uid that Kubernetes gives to an object.
inline constexpr std::size_t kMaxObjectName = 253;

// Every annotation with this prefix is ours: in a pod mutation decides what they say.
inline constexpr std::string_view kAnnotationPrefix = "assay.dev/";

struct Review {
  std::string uid;  // of the review, not of the object
  std::string group;
  std::string kind;
  std::string name_space;
  std::string object_name;  // of the request; empty when the object's name is made later
  std::string operation;
  std::string user;
  Json object;      // null for a deletion
  Json old_object;  // null unless it is an update or a deletion
  bool dry_run = false;
};

// What a review is about.
enum class ReviewSubject : std::uint8_t {
  kPod,       // also its ephemeral containers
  kTemplate,  // makes pods, which are judged themselves
  kBinding,   // of pods/binding, and of the older resource bindings
  kClaim,     // a persistent volume claim
  kOther,
};
[[nodiscard]] ReviewSubject subject_of(const Review& review);

// malformed-admission-review when no uid can be read, or it is another version; the JSON errors.
[[nodiscard]] Result<Review> parse_review(ByteView body);

// True when the metadata of the object have an annotation of ours.
[[nodiscard]] bool has_our_annotations(const Json& object);

// At most `limit` bytes, cut between characters.
[[nodiscard]] std::string clip(std::string text, std::size_t limit);

}  // namespace assay::server
