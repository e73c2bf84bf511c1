// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/hints.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "schemas/instance.h"

namespace assay::worker {

namespace {

constexpr std::uint64_t kMostSteps = 1024;  // that are under way at once
constexpr std::chrono::hours kLongestIdle{1};

// The word at this position. The page belongs to another process, which stores words whole.
std::uint64_t word(const HostMapping& page, std::size_t position) {
  const auto* const words = reinterpret_cast<const std::uint64_t*>(page.bytes().data());
  return __atomic_load_n(words + position, __ATOMIC_ACQUIRE);
}

}  // namespace

std::optional<WatchHints> hints_of(const HintWords& words, Steady::time_point now) {
  const bool silent = words.begun == 0 && words.idle_until == 0;
  const std::uint64_t steps = words.begun - words.ended;
  if (words.magic != kHintsMagic || words.version != kHintsVersion || silent ||
      words.ended > words.begun || steps > kMostSteps) {
    return std::nullopt;
  }
  WatchHints hints{steps > 0, {}};
  const auto latest = std::chrono::nanoseconds((now + kLongestIdle).time_since_epoch()).count();
  if (std::cmp_greater(words.idle_until, latest)) {
    return std::nullopt;
  }
  const Steady::time_point until{
      std::chrono::nanoseconds(static_cast<std::int64_t>(words.idle_until))};
  if (!hints.in_step && until > now) {
    hints.idle_until = until;
  }
  return hints;
}

Result<std::shared_ptr<const HintsPage>> HintsPage::map(const Descriptor& file) {
  ASSAY_ASSIGN(auto page, HostMapping::map(file, kHintsPage));
  return std::shared_ptr<const HintsPage>(new HintsPage(std::move(page)));
}

// `ended` is read before `begun`: a step that begins and ends meanwhile does not make more steps
// end than begin.
std::optional<WatchHints> HintsPage::read(Steady::time_point now) const {
  HintWords words{.magic = word(*page_, 0), .version = word(*page_, 1)};
  words.idle_until = word(*page_, 4);
  words.ended = word(*page_, 3);
  words.begun = word(*page_, 2);
  return hints_of(words, now);
}

Steady::duration pace_of(Steady::duration cpu, unsigned looks) {
  constexpr int kShare = 100;  // of a core: one part of so many
  return std::clamp<Steady::duration>(cpu * kShare / std::max(looks, 1U), kShortestPace,
                                      kLongestPace);
}

void join_hints(std::optional<WatchHints>& sum, const WatchHints& one) {
  if (!sum) {
    sum = one;
    return;
  }
  sum->in_step = sum->in_step || one.in_step;
  sum->idle_until = sum->in_step || !sum->idle_until || !one.idle_until
                        ? std::nullopt
                        : std::optional(std::min(*sum->idle_until, *one.idle_until));
}

}  // namespace assay::worker
