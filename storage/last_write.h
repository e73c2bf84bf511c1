// SPDX-License-Identifier: Apache-2.0
// When a store was written last: by its own time, which never goes back, and by the wall clock.
#pragma once

#include <chrono>

#include "schemas/core/clock.h"

namespace assay::storage {

struct LastWrite {
  Timestamp time;
  // The wall clock at that write; it may be behind `time`. If the time was unknown at that write,
  // the wall clock must first reach this value (server/service/held_clock.h).
  Timestamp wall;
  bool operator==(const LastWrite&) const = default;

  // Returns the time when the wall clock says `now`: `time` plus what the wall clock advanced since
  // the write. A lead of `time` over the wall clock is kept, so that no report becomes younger. A
  // lead of more than a day ends once the wall clock reaches `time`, because the wall clock was
  // then wrong and has been corrected.
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
