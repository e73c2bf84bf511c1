// SPDX-License-Identifier: Apache-2.0
// What the service's log and its metrics say of requests, connections and defects.
#pragma once

#include "schemas/core/clock.h"
#include "server/anonymous_requests.h"
#include "server/api/dispatch.h"
#include "server/metrics.h"
#include "server/operational_log.h"

namespace assay::server {

class Recorder final : public Observer {
 public:
  // The arguments must outlive the recorder.
  Recorder(Log& log, Metrics& metrics, const Clock& clock)
      : log_(log), metrics_(metrics), clock_(clock) {}

  // A fault of ours needs somebody, and what an identified caller did has a line. Anybody may send
  // the rest: probes, which nobody needs to hear of, and what is counted.
  void on_request(const RequestRecord& record) override;
  void on_connection(Listener listener, ConnectionEvent event) override;
  void on_defect(std::string_view what) override;

  // Writes the lines about anonymous callers that are due; with `all` every one.
  void flush(bool all);

 private:
  Log& log_;
  Metrics& metrics_;
  const Clock& clock_;
  AnonymousRequests anonymous_;
};

}  // namespace assay::server
