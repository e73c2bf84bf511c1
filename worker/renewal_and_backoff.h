// SPDX-License-Identifier: Apache-2.0
// Timing of the node agent: pauses after failures, and renewals before a term ends. All times are
// of the steady clock, because this machine's wall clock may be wrong. The service therefore states
// durations, such as the length of a lease.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "schemas/core/random.h"

namespace assay::worker {

using Steady = std::chrono::steady_clock;

// Returns a random fraction in [0, 1), or 0.5 when the random source fails.
[[nodiscard]] double random_fraction(Random& random);

// Pauses with full jitter. Each pause is drawn between zero and a bound that doubles with every
// failure, so that many agents do not return at the same time after an outage of the service.
class Backoff {
 public:
  Backoff(Random& random, std::chrono::milliseconds first, std::chrono::milliseconds longest)
      : random_(random), first_(first), longest_(longest) {}

  // Returns the pause after one more failure, at least a millisecond.
  [[nodiscard]] std::chrono::milliseconds next();
  void reset() { failures_ = 0; }

 private:
  Random& random_;
  std::chrono::milliseconds first_;
  std::chrono::milliseconds longest_;
  unsigned failures_ = 0;
};

// A period that the service granted: an enrolment or a lease.
class Term {
 public:
  // Makes a term that is over.
  Term() = default;
  // Makes a term of `length` from `from` on. Renewal is due after the fraction `share` (0 to 1) of
  // the term.
  Term(Steady::time_point from, std::chrono::milliseconds length, double share);

  [[nodiscard]] bool is_over(Steady::time_point now) const { return now >= end_; }
  [[nodiscard]] bool is_due(Steady::time_point now) const { return now >= due_; }
  [[nodiscard]] Steady::time_point due() const { return due_; }
  [[nodiscard]] Steady::time_point end() const { return end_; }
  // Moves the next renewal to `when`, after a failed renewal.
  void postpone(Steady::time_point when) { due_ = when; }

 private:
  Steady::time_point due_ = Steady::time_point::min();
  Steady::time_point end_ = Steady::time_point::min();
};

// Returns the fraction of an enrolment's term after which the enrolment is renewed: a random number
// from 0.5 to 0.75. Nodes that started together therefore renew at different times, and enough time
// is left for many attempts.
[[nodiscard]] double renewal_share(Random& random);

// Waits for `length`. Returns false when `stop` is requested before the end.
bool pause(Steady::duration length, const std::stop_token& stop);

// Returns true for failures that may be temporary. Examples: the service cannot be reached, the
// service is busy, or another party answered in place of the service.
[[nodiscard]] bool may_pass(const Error& error);

}  // namespace assay::worker
