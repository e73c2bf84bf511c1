// SPDX-License-Identifier: Apache-2.0
// When a store was written last, by two clocks: the store's own time, which never goes back, and
// the wall clock.
#pragma once

#include <chrono>

#include "schemas/core/clock.h"

namespace assay::storage {

struct LastWrite {
  Timestamp time;  // by the store's own time
  // What the wall clock said at the last write; may be behind `time`. If the time was unknown at
  // that write, `wall` is instead the later value that the wall clock must reach before the time is
  // known again (server/service/held_clock.h).
  Timestamp wall;
  bool operator==(const LastWrite&) const = default;

  // Returns the store's time when the wall clock says `now`: `time` plus what the wall clock
  // advanced since the write. A lead of `time` over the wall clock is kept, so that nothing that
  // was written becomes younger. A lead of more than a day ends once the wall clock reaches `time`,
  // because such a lead means that the wall clock was wrong at the write and has been corrected.
  [[nodiscard]] Timestamp at(Timestamp now) const;
  // How far the wall clock may seem to go back between two readings of it.
  static constexpr std::chrono::seconds kTolerance{5};
  static constexpr std::chrono::hours kLongestLead{24};
};

inline Timestamp LastWrite::at(Timestamp now) const {
  const bool set_right = time - wall > kLongestLead && now + kTolerance >= time;
  const Timestamp least = set_right || now < wall ? time : time + (now - wall);
  return least < now ? now : least;
}

}  // namespace assay::storage
