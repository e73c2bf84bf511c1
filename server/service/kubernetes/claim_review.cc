// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/claim_review.h"

#include "server/service/kubernetes/review_answer.h"

namespace assay::server {
namespace {

constexpr std::string_view kRecorded = "recorded";

// The controller that binds a claim sets it, and leaves a claim alone that has it.
constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";

std::string volume_in(const Json& claim) { return text_at(member_at(claim, "spec"), "volumeName"); }

// What is stored goes before what is asked for: an update may still be refused.
std::string volume_of(const Review& review) {
  std::string stored = volume_in(review.old_object);
  return !stored.empty() ? stored : volume_in(review.object);
}

storage::ClaimRow claim_of(const WebhookCall& asking, const Review& review, const Json& object) {
  return {.cluster = asking.principal,
          .name_space = review.name_space,
          .name = metadata_text(object, "name"),
          .uid = metadata_text(object, "uid"),
          .volume = volume_of(review)};
}

bool is_usable(const storage::ClaimRow& claim) {
  return !claim.name.empty() && claim.name.size() <= kMaxObjectName && !claim.uid.empty() &&
         claim.uid.size() <= kMaxObjectName && claim.volume.size() <= kMaxObjectName;
}

// A claim that is being deleted takes no new pods, and its name is soon another claim's.
bool is_going(const Review& review) {
  return review.operation == "DELETE" || !metadata_text(review.object, "deletionTimestamp").empty();
}

bool same(const storage::ClaimRow& a, const storage::ClaimRow& b) {
  return a.uid == b.uid && a.volume == b.volume;
}

Result<std::optional<storage::ClaimRow>> known_claim(const WebhookCall& asking,
                                                     const storage::ClaimRow& claim) {
  ASSAY_ASSIGN(const auto snapshot, asking.store.snapshot());
  auto known = snapshot->claim(claim.cluster, claim.name_space, claim.name);
  if (!known && known.error().code != ErrorCode::kNotFound) {
    return std::unexpected(std::move(known).error());
  }
  return known ? std::optional(std::move(*known)) : std::nullopt;
}

// Stands for the volume of a claim when reviews asked for different ones. No volume has this name,
// so no report is about it.
constexpr std::string_view kUnclearVolume = "?";

// Of several updates that give a claim its volume the API server stores one, and the reviews do not
// tell which. They are about the same volume, or the volume is unclear until an update shows what
// is stored. `only_asked_for`: this review shows no stored volume.
Status put(storage::Transaction& transaction, storage::ClaimRow claim, bool only_asked_for) {
  const auto known = transaction.claim(claim.cluster, claim.name_space, claim.name);
  if (!known && known.error().code != ErrorCode::kNotFound) {
    return std::unexpected(known.error());
  }
  if (only_asked_for && known && known->uid == claim.uid && !known->volume.empty() &&
      known->volume != claim.volume) {
    claim.volume = claim.volume.empty() ? known->volume : std::string(kUnclearVolume);
  }
  return transaction.put_claim(claim);
}

// A creation may be refused after its review (409), so nothing is learnt from it: only updates are
// about the claim that is there, and binding a claim is one. A claim that says it is bound already
// would never be updated; while another one is known under its name, it does not come.
Result<ReviewAnswer> judge_creation(const WebhookCall& asking, const Review& review,
                                    const storage::ClaimRow& claim) {
  const Json& annotations = member_at(member_at(review.object, "metadata"), "annotations");
  if (member_at(annotations, kBindCompleted).is_null()) {
    return allow_unjudged(review, kRecorded);
  }
  ASSAY_ASSIGN(const auto known, known_claim(asking, claim));
  return known && !known->volume.empty() && known->uid != claim.uid
             ? refuse(review, Reason::kConflict,
                      "another claim of this name is known: leave out the annotation " +
                          std::string(kBindCompleted))
             : allow_unjudged(review, kRecorded);
}

}  // namespace

Result<ReviewAnswer> record_claim(const WebhookCall& asking, const Review& review) {
  const bool going = is_going(review);
  const storage::ClaimRow claim =
      claim_of(asking, review, review.operation == "DELETE" ? review.old_object : review.object);
  if (!asking.keeps(review) || !is_usable(claim)) {
    return allow_unjudged(review, kRecorded);
  }
  if (review.operation == "CREATE") {
    return judge_creation(asking, review, claim);
  }
  const auto known = known_claim(asking, claim);
  const bool changes =
      !known || (going ? *known && (*known)->uid == claim.uid : !*known || !same(**known, claim));
  if (!changes) {
    return allow_unjudged(review, kRecorded);
  }
  const auto written = asking.store.write([&](storage::Transaction& transaction) {
    return going ? transaction.remove_claim(claim.cluster, claim.name_space, claim.name, claim.uid)
                 : put(transaction, claim, volume_in(review.old_object).empty());
  });
  // A claim that is not known at all counts for nothing: only a wrong row does harm.
  if (!written && review.operation != "DELETE" && (!known || *known)) {
    return std::unexpected(written.error());
  }
  return allow_unjudged(review, kRecorded);
}

}  // namespace assay::server
