// SPDX-License-Identifier: Apache-2.0
// What a process says of its own steps, in a page of counters that it shares (docs/instances.md).
// Nothing is decided by it: a hint moves a look at memory within its time, and no further.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"
#include "worker/instances/memory.h"
#include "worker/pace.h"

namespace assay::worker {

// What the process that uses the device says of itself. It is believed as far as it costs nothing:
// hints move a slice within its time, never beyond its deadline.
struct WatchHints {
  bool in_step = false;                            // a step of computing has begun and not ended
  std::optional<Steady::time_point> idle_until{};  // nothing is computed until then
  bool operator==(const WatchHints&) const = default;
};

// Words of the page, 64 bits each in the byte order of the machine.
struct HintWords {
  std::uint64_t magic = 0;
  std::uint64_t version = 0;
  std::uint64_t begun = 0;       // steps
  std::uint64_t ended = 0;       // steps
  std::uint64_t idle_until = 0;  // CLOCK_MONOTONIC, ns; 0: not said
};
inline constexpr std::uint64_t kHintsMagic = 0x544E'4859'4153'5341;  // "ASSAYHNT", little-endian
inline constexpr std::uint64_t kHintsVersion = 1;

// What these words say at `now`: nullopt for a page on which nothing was said yet, and for one that
// says what cannot be: another magic or version, more steps that ended than began, more than 1,024
// steps at once, idleness for more than an hour. A step under way is no idleness.
[[nodiscard]] std::optional<WatchHints> hints_of(const HintWords& words, Steady::time_point now);

// A page of another process, mapped read-only. Thread-safe.
class HintsPage {
 public:
  // `file` is a memory file of kHintsPage bytes. Errors: of HostMapping::map().
  [[nodiscard]] static Result<std::shared_ptr<const HintsPage>> map(const Descriptor& file);
  // Reads the page once. The process may write meanwhile: words are whole, and may be of several
  // moments.
  [[nodiscard]] std::optional<WatchHints> read(Steady::time_point now) const;

 private:
  explicit HintsPage(std::shared_ptr<const HostMapping> page) : page_(std::move(page)) {}
  std::shared_ptr<const HostMapping> page_;
};

// How long to wait between two looks at pages, when `looks` of them took `cpu` of a processor's
// time: so long that looking takes about 1 percent of a core, from kShortestPace to kLongestPace.
inline constexpr std::chrono::microseconds kShortestPace{500};
inline constexpr std::chrono::microseconds kLongestPace{5'000};
[[nodiscard]] Steady::duration pace_of(Steady::duration cpu, unsigned looks);

// Of all processes of an instance, which step together: a step of one is a step of all, and they
// are idle as long as each of them is. `sum` is of those before, nullopt before the first.
void join_hints(std::optional<WatchHints>& sum, const WatchHints& one);

}  // namespace assay::worker
