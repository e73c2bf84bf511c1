// SPDX-License-Identifier: Apache-2.0
// Does one leased job (schemas/job.h): hashes, reports, and answers the service's further questions
// (docs/design.md, "Nodes").
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "worker/enrol.h"
#include "worker/instances/model.h"
#include "worker/laid_out.h"
#include "worker/model.h"
#include "worker/parts.h"
#include "worker/renewal_and_backoff.h"

namespace assay::worker {

// How a job ended on this node:
// - "verified", "mismatch" and "incomplete" are the states that the service recorded.
// - "lost": the lease was lost, or it is unknown whether the service accepted the report.
// - "refused": the service refused a request for this job, such as the report.
// - "unmapped": this node does not have the location or the instance. The service was told, so the
//   job has ended.
// - "failed": hashing did not work.
// - "stopped": the work was abandoned on request.
// After "lost", "refused", "failed" and "stopped" the lease expires, and the service then leases
// the job again. When a device failed, the lease is given back at once.
struct JobOutcome {
  std::string_view result;
  std::optional<Error> error;
};

class LeasedJob {
 public:
  // `received` is the time at which the lease arrived.
  LeasedJob(Parts& parts, Enroller& enroller, JobLease lease, Steady::time_point received);

  [[nodiscard]] JobOutcome run();

 private:
  [[nodiscard]] Result<ReportAnswer::State> work();
  [[nodiscard]] Status check_lease() const;
  // Finds the directory or file to read (Place of map.h). Ends the job when this node does not have
  // it.
  [[nodiscard]] Status find_place();
  [[nodiscard]] Status find_directory();
  [[nodiscard]] Status find_instance();
  void give_back();
  [[nodiscard]] Status tend();
  [[nodiscard]] Status renew();
  // Runs `work` in a thread of its own and renews lease and enrolment meanwhile. When the lease or
  // the enrolment is lost, stops `work` and waits for its end.
  [[nodiscard]] Status aside(const std::function<void(const std::stop_token&)>& work);
  // Repeats `call` until the service answers, as long as the lease is valid.
  template <typename Call>
  [[nodiscard]] auto insist(const char* what, const Call& call) -> decltype(call());

  // Returns whether the work that failed with `error` is to be done again, by engine_, which is
  // then Parts::fallback.
  [[nodiscard]] bool takes_fallback(const Error& error);

  [[nodiscard]] Result<VerificationReport> inspect(const Manifest& manifest);
  // Makes the part of the report that does not depend on the bytes that are read.
  [[nodiscard]] VerificationReport begin_report(const Manifest& manifest) const;
  [[nodiscard]] Status read_files(const Manifest& manifest, VerificationReport& report);
  [[nodiscard]] Result<NodeModel::Hashed> look(const Manifest& manifest,
                                               const std::stop_token& stop);
  // For scope device-memory; defined in job_memory.cc.
  [[nodiscard]] Status read_memory(const Manifest& manifest, VerificationReport& report);
  // Computes what an instance with a layout must hold. Absent: it registered none. Errors:
  // layout-needs-files when no location of the manifest has a directory here; those of layout_of()
  // and LaidOut::make().
  [[nodiscard]] Result<std::optional<LaidOut>> lay_out(const Manifest& manifest,
                                                       const std::stop_token& stop);
  // Returns the roots of a layout's tensors, from memory or from the model's files.
  [[nodiscard]] Result<LaidOut::Roots> roots_of(const Layout& layout, const Manifest& manifest,
                                                const std::stop_token& stop);
  [[nodiscard]] Result<NodeModel> files_of(const Manifest& manifest,
                                           const std::stop_token& stop) const;
  [[nodiscard]] Result<std::vector<OutlineSubmission::Item>> outline(const ReportAnswer& wanted,
                                                                     const std::stop_token& stop);
  // Tells the owners of the memory the result of the report. A verified instance is watched from
  // then on.
  void conclude(const ReportAnswer& answer, const ReportSubmission& submission);
  [[nodiscard]] Result<ReportSubmission> sign(const VerificationReport& report);
  [[nodiscard]] Result<ReportAnswer> send_outline(const ReportAnswer& wanted);
  [[nodiscard]] Result<ReportAnswer> send_spots(const ReportAnswer& wanted);

  Parts& parts_;
  Enroller& enroller_;
  JobLease lease_;
  Term term_;
  Backoff backoff_;
  gpu_hash::Engine* engine_;  // for files: that of Parts, or its fallback
  Place place_;
  std::optional<NodeModel> model_;              // for scope files
  std::vector<std::shared_ptr<Owner>> owners_;  // of the instance, until they are read
  std::optional<Refusal> why_missing_;          // why nobody registered the instance, if known
  std::shared_ptr<InstanceModel> instance_;     // for scope device-memory
  std::vector<Entry> found_;                    // entries of the instance
  std::vector<Finding> findings_;               // findings about the instance
  bool laid_out_ = true;                        // false: it has a layout that could not be used
  bool refused_ = false;                        // true: the last error is an answer of the service
};

}  // namespace assay::worker
