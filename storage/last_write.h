// SPDX-License-Identifier: Apache-2.0
// When a store was written last: by its own time, which never goes back, and by the wall clock.
#pragma once

#include <chrono>

#include "schemas/core/clock.h"

namespace assay::storage {

struct LastWrite {
  Timestamp time;
  // What the wall clock said then; it may be behind `time`. Of a time that was not known: what the
  // wall clock must come to before it is (server/service/held_clock.h).
  Timestamp wall;
  bool operator==(const LastWrite&) const = default;

  // What time is when the wall clock, which has not gone back behind `wall`, says `now`: what it
  // says has passed since then has passed. A lead goes on, so that nothing becomes younger by it. A
  // lead of more than a day ends once the wall clock has come to `time`: then the wall clock was
  // behind and was set right, and no service stood still for so long.
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
