// SPDX-License-Identifier: Apache-2.0
// Which volume is behind a persistent volume claim, as its own reviews say: a report about
// pvc://NAMESPACE/CLAIM counts only for the volume that was read.
#include "server/service/judging.h"
#include "server/service/review_answer.h"

namespace assay::server {
namespace {

constexpr std::string_view kRecorded = "recorded";

// A creation that the API server refuses after its review (409) may name any volume: only updates,
// which are about the claim that is there, say which one it has. Binding a claim is one.
std::string volume_of(const Review& review, const Json& object) {
  return review.operation == "CREATE" ? std::string()
                                      : text_member(member(object, "spec"), "volumeName");
}

storage::ClaimRow claim_of(const Asking& asking, const Review& review, const Json& object) {
  return {.cluster = asking.principal,
          .name_space = review.name_space,
          .name = metadata_text(object, "name"),
          .uid = metadata_text(object, "uid"),
          .volume = volume_of(review, object)};
}

bool is_usable(const storage::ClaimRow& claim) {
  return !claim.name.empty() && claim.name.size() <= kMaxObjectName && !claim.uid.empty() &&
         claim.uid.size() <= kMaxObjectName && claim.volume.size() <= kMaxObjectName;
}

// A claim that is being deleted takes no new pods, and its name is soon another claim's.
bool is_going(const Review& review) {
  return review.operation == "DELETE" || !metadata_text(review.object, "deletionTimestamp").empty();
}

Result<std::optional<storage::ClaimRow>> known_claim(const Asking& asking,
                                                     const storage::ClaimRow& claim) {
  ASSAY_ASSIGN(const auto snapshot, asking.services.store.snapshot());
  auto known = snapshot->claim(claim.cluster, claim.name_space, claim.name);
  if (!known && known.error().code != ErrorCode::kNotFound) {
    return std::unexpected(std::move(known).error());
  }
  return known ? std::optional(std::move(*known)) : std::nullopt;
}

}  // namespace

Result<std::string> record_claim(const Asking& asking, const Review& review) {
  const bool going = is_going(review);
  const storage::ClaimRow claim =
      claim_of(asking, review, review.operation == "DELETE" ? review.old_object : review.object);
  if (!asking.keeps(review) || !is_usable(claim)) {
    return allow_unjudged(review, kRecorded);
  }
  const auto known = known_claim(asking, claim);
  const bool changes = !known || (going ? *known && (*known)->uid == claim.uid : *known != claim);
  if (!changes) {
    return allow_unjudged(review, kRecorded);
  }
  const auto written = asking.services.store.write([&](storage::Transaction& transaction) {
    return going ? transaction.remove_claim(claim.cluster, claim.name_space, claim.name, claim.uid)
                 : transaction.put_claim(claim);
  });
  // A claim that is not known at all counts for nothing: only a wrong row does harm.
  if (!written && review.operation != "DELETE" && (!known || *known)) {
    return std::unexpected(written.error());
  }
  return allow_unjudged(review, kRecorded);
}

}  // namespace assay::server
