// SPDX-License-Identifier: Apache-2.0
// Enrolment of the node, and its renewal well before it is over (docs/design.md, "Evidence").
#pragma once

#include "worker/pace.h"
#include "worker/parts.h"

namespace assay::worker {

class Enroller {
 public:
  explicit Enroller(Parts& parts);

  // Enrols now: a fresh challenge, evidence over it, one signed request.
  [[nodiscard]] Status enrol();

  // Enrols when that is due. A failure is told and tried again later, as long as the enrolment
  // still holds or the failure may pass; otherwise it is returned.
  [[nodiscard]] Status tend();
  [[nodiscard]] Steady::time_point due() const { return term_.due(); }

  // The service does not know of an enrolment: the next tend() enrols.
  void forget() { term_ = Term(); }

 private:
  [[nodiscard]] Result<Enrolled> ask(const Challenge& challenge);

  Parts& parts_;
  Backoff backoff_;
  Term term_;  // over at first
  bool before_ = false;
};

// Failures after which the node cannot go on whatever it tries: it is revoked or was ended, or
// belongs to somebody else, or the caller has no right to be here.
[[nodiscard]] bool is_final(const Error& error);
// What the operator of a worker that ends with a final error can do.
[[nodiscard]] std::string_view advice_on(const Error& error);

}  // namespace assay::worker
