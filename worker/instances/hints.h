// SPDX-License-Identifier: Apache-2.0
// Hints: what a process says about its own computing steps, in a page of counters that it shares
// (docs/instances.md). A hint can only move the check of a slice (a part of the memory) between the
// earliest time and the deadline that schedule.h sets for the slice. It changes no result.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"
#include "worker/instances/memory.h"
#include "worker/renewal_and_backoff.h"

namespace assay::worker {

// What the process that computes on the device says about itself. The values may be false; the
// deadline of a slice limits the harm.
struct WatchHints {
  bool in_step = false;                            // a computing step has begun and not yet ended
  std::optional<Steady::time_point> idle_until{};  // the process computes nothing until this time
  bool operator==(const WatchHints&) const = default;
};

// Words of the page, 64 bits each in the byte order of the machine.
struct HintWords {
  std::uint64_t magic = 0;
  std::uint64_t version = 0;
  std::uint64_t begun = 0;       // steps
  std::uint64_t ended = 0;       // steps
  std::uint64_t idle_until = 0;  // nanoseconds of CLOCK_MONOTONIC; 0: not said
};
inline constexpr std::uint64_t kHintsMagic = 0x544E'4859'4153'5341;  // "ASSAYHNT", little-endian
inline constexpr std::uint64_t kHintsVersion = 1;

// Returns the hints in these words at `now`. Returns nullopt for a page on which nothing was said
// yet, and for impossible words: a wrong magic or version, more steps ended than begun, more than
// 1,024 steps under way at once, or idleness for more than an hour. While a step is under way, the
// process is not idle, whatever `idle_until` says.
[[nodiscard]] std::optional<WatchHints> hints_of(const HintWords& words, Steady::time_point now);

// A page of another process, mapped read-only. Thread-safe.
class HintsPage {
 public:
  // Maps `file`, a memory file of kHintsPage bytes. Errors: those of HostMapping::map().
  [[nodiscard]] static Result<std::shared_ptr<const HintsPage>> map(const Descriptor& file);
  // Reads the page once and returns hints_of() its words. The process may write at the same time:
  // each word is read whole, but different words may come from different moments.
  [[nodiscard]] std::optional<WatchHints> read(Steady::time_point now) const;

 private:
  explicit HintsPage(std::shared_ptr<const HostMapping> page) : page_(std::move(page)) {}
  std::shared_ptr<const HostMapping> page_;
};

// pace_of() returns how long to wait between two looks at pages of hints, when `looks` such looks
// took `cpu` of processor time together. With this wait, looking takes about 1 percent of a core.
// The wait is at least kShortestPace and at most kLongestPace.
inline constexpr std::chrono::microseconds kShortestPace{500};
inline constexpr std::chrono::microseconds kLongestPace{5'000};
[[nodiscard]] Steady::duration pace_of(Steady::duration cpu, unsigned looks);

// Adds the hints of one more process of an instance to `sum`, which is nullopt before the first
// process. The processes of an instance step together: `sum` is in a step when any of them is, and
// idle only until the first of them stops being idle.
void join_hints(std::optional<WatchHints>& sum, const WatchHints& one);

}  // namespace assay::worker
