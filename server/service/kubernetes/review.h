// SPDX-License-Identifier: Apache-2.0
// An AdmissionReview v1 as the API server sends it: parsed and checked against limits, but not
// judged.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json_at.h"

namespace assay::server {

// Limits on a review: its bytes, and the memory of its values (JsonLimits), which is what parsing
// costs. A review of an update contains the object twice.
inline constexpr std::size_t kMaxReviewBytes = 3U << 20;
inline constexpr std::size_t kMaxReviewMemory = 9U << 20;

// Limits on the object in a review, by the same measures. They are below half of those of a review,
// so that an object that was let in can be updated also after its status has grown. Bytes are those
// that the API server writes.
inline constexpr std::size_t kMaxObjectBytes = 1U << 20;
inline constexpr std::size_t kMaxObjectMemory = 3840U << 10;
// Limits on a pod that no policy selects: nearly half of those of a review, with less room for its
// status.
inline constexpr std::size_t kMaxUnselectedBytes = 1472U << 10;
inline constexpr std::size_t kMaxUnselectedMemory = 4352U << 10;

// By so much an update may extend an object beyond its limits. Whoever removes a finalizer adds an
// entry to metadata.managedFields.
inline constexpr std::size_t kMaxGrowthBytes = 4U << 10;
inline constexpr std::size_t kMaxGrowthMemory = 32U << 10;
// And no further than this, in however many updates: twice as much is a review that can be parsed,
// so that the object can still be made shorter.
inline constexpr std::size_t kMaxGrownBytes = 1504U << 10;
inline constexpr std::size_t kMaxGrownMemory = 4480U << 10;

// Limit on the bytes of a name or uid that Kubernetes gives to an object.
inline constexpr std::size_t kMaxObjectName = 253;

// Prefix of the annotations that belong to Assay. The mutating webhook sets and removes such
// annotations in pods.
inline constexpr std::string_view kAnnotationPrefix = "assay.dev/";

// A parsed review.
struct Review {
  std::string uid;  // of the review, not of the object
  std::string group;
  std::string kind;
  std::string name_space;
  std::string object_name;  // empty when the API server generates the name later
  std::string operation;
  std::string user;
  // Groups of the user; nullopt when the review lists none, or too many (requester.h).
  std::optional<std::vector<std::string>> groups{};
  Json object;      // null for a deletion
  Json old_object;  // null unless the operation is an update or a deletion
  bool dry_run = false;
};

// The subject of a review.
enum class ReviewSubject : std::uint8_t {
  kPod,       // a pod, or its ephemeral containers
  kTemplate,  // an object that makes pods; each pod gets a review of its own
  kBinding,   // pods/binding, or the older resource "bindings"
  kClaim,     // a persistent volume claim
  kOther,
};
[[nodiscard]] ReviewSubject subject_of(const Review& review);

// Parses a review. Errors: malformed-admission-review when the body is not an AdmissionReview of
// version v1, or has no uid; the JSON errors.
[[nodiscard]] Result<Review> parse_review(ByteView body);

// Checks that the object is within its limits, or that the update does not extend it, or by no more
// than its growth. `bytes` is the size of the whole review. Errors: limit-exceeded.
[[nodiscard]] Status check_object_size(const Review& review, std::size_t bytes);
// The same with the limits on a pod that no policy selects.
[[nodiscard]] Status check_unselected_size(const Review& review, std::size_t bytes);

// Returns true when the metadata of the object has an annotation with kAnnotationPrefix.
[[nodiscard]] bool has_our_annotations(const Json& object);

// Returns `text`, cut to at most `limit` bytes at the end of a UTF-8 character.
[[nodiscard]] std::string clip(std::string text, std::size_t limit);

}  // namespace assay::server
