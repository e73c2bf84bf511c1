// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions/age.h"

#include <limits>

namespace assay::policy {
namespace {

std::uint64_t age_milliseconds(Timestamp then, Timestamp now) {
  return then > now ? 0 : static_cast<std::uint64_t>((now - then).count());
}

}  // namespace

std::uint64_t age_seconds(Timestamp then, Timestamp now) {
  return age_milliseconds(then, now) / 1000;
}

bool is_older(Timestamp then, std::uint64_t max_age_seconds, Timestamp now) {
  constexpr std::uint64_t kLongest = std::numeric_limits<std::int64_t>::max() / 1000;
  return max_age_seconds <= kLongest && age_milliseconds(then, now) > max_age_seconds * 1000;
}

bool is_valid(const std::optional<Timestamp>& until, Timestamp now) {
  return !until || now < *until;
}

}  // namespace assay::policy
