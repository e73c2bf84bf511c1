// SPDX-License-Identifier: Apache-2.0
// Enrols the node and renews the enrolment well before it ends (docs/design.md, "Evidence").
#pragma once

#include "worker/parts.h"
#include "worker/renewal_and_backoff.h"

namespace assay::worker {

class Enroller {
 public:
  explicit Enroller(Parts& parts);

  // Enrols the node: gets a new challenge, collects evidence for this challenge and sends one
  // signed request.
  [[nodiscard]] Status enrol();

  // Enrols when the renewal is due. A failed attempt is reported as an event and repeated later, as
  // long as the present enrolment is valid or the failure may be temporary. Any other failure is
  // returned, and so are final failures (is_final) and cancellations.
  [[nodiscard]] Status tend();
  [[nodiscard]] Steady::time_point due() const { return term_.due(); }

  // Discards the enrolment. Called when the service does not know the enrolment. The next tend()
  // enrols the node again.
  void forget() { term_ = Term(); }

 private:
  [[nodiscard]] Result<Enrolled> ask(const Challenge& challenge);
  [[nodiscard]] Status add_devices(Enrolment& enrolment);

  Parts& parts_;
  Backoff backoff_;
  Term term_;  // at first a term that is over
  bool before_ = false;
};

// Returns true for failures after which no other attempt can succeed. Examples: the node is
// revoked, its enrolment was ended, the node belongs to another principal, or the caller lacks the
// right to enrol.
[[nodiscard]] bool is_final(const Error& error);
// Returns advice for the operator of a worker that ends with a final error.
[[nodiscard]] std::string_view advice_on(const Error& error);

}  // namespace assay::worker
