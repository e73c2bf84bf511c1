// SPDX-License-Identifier: Apache-2.0
// When the node agent does what: pauses after failures, renewals before an end. Times are steady
// ones: the service says how long something holds, and this machine's wall clock may be wrong.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/random.h"

namespace assay::worker {

using Steady = std::chrono::steady_clock;

// A fraction in [0, 1); a half when there is no randomness.
[[nodiscard]] double random_fraction(Random& random);

// Pauses with full jitter: each is drawn from zero to a bound that doubles with every failure, so
// that many agents do not come back in step after an outage of the service.
class Backoff {
 public:
  Backoff(Random& random, std::chrono::milliseconds first, std::chrono::milliseconds longest)
      : random_(random), first_(first), longest_(longest) {}

  // The pause after one more failure; at least a millisecond.
  [[nodiscard]] std::chrono::milliseconds next();
  void reset() { failures_ = 0; }

 private:
  Random& random_;
  std::chrono::milliseconds first_;
  std::chrono::milliseconds longest_;
  unsigned failures_ = 0;
};

// Something that the service granted for a while: an enrolment, a lease.
class Term {
 public:
  // A term that is over.
  Term() = default;
  // Granted at `from` for `length`; renewal is due after `share` of it, from 0 to 1.
  Term(Steady::time_point from, std::chrono::milliseconds length, double share);

  [[nodiscard]] bool is_over(Steady::time_point now) const { return now >= end_; }
  [[nodiscard]] bool is_due(Steady::time_point now) const { return now >= due_; }
  [[nodiscard]] Steady::time_point due() const { return due_; }
  [[nodiscard]] Steady::time_point end() const { return end_; }
  // A renewal failed: the next one is due at `when`.
  void postpone(Steady::time_point when) { due_ = when; }

 private:
  Steady::time_point due_ = Steady::time_point::min();
  Steady::time_point end_ = Steady::time_point::min();
};

// Part of an enrolment after which it is renewed: between a half and three quarters, so that nodes
// that started together spread out, and there is time for many tries.
[[nodiscard]] double renewal_share(Random& random);

// Waits for so long, or until `stop` is requested: false then.
bool pause(Steady::duration length, const std::stop_token& stop);

// True for failures that the same request may not meet again later: the service cannot be reached,
// is busy, or something between here and there answered in its place.
[[nodiscard]] bool may_pass(const Error& error);

}  // namespace assay::worker
