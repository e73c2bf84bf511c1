// SPDX-License-Identifier: Apache-2.0
// Metrics in the Prometheus text format. Labels come from closed sets (route templates, methods,
// codes), never from what clients send.
#pragma once

#include <memory>
#include <string>

#include "server/api/dispatch.h"
#include "server/service/services.h"
#include "storage/store.h"

namespace assay::server {

// The metrics of the service. Thread-safe.
class Metrics {
 public:
  explicit Metrics(const std::string& version);
  ~Metrics();

  void request(const RequestRecord& record);
  void connection(Listener listener, ConnectionEvent event);
  void defect();
  void decision(bool allowed);
  // Sets when the certificate of the listeners ends.
  void certificate_ends(Timestamp end);
  // Sets the earliest next update of all collateral of one kind ("tcb-info" and so on).
  void collateral_ends(const std::string& kind, Timestamp next_update);
  // Sets how far the wall clock is behind the service's clock, and whether that clock knows the
  // time (service/held_clock.h).
  void clock(std::chrono::milliseconds behind, bool known);
  // Sets how many lines of the operational log were lost since the start.
  void log_lines_lost(std::uint64_t lost);
  // Counts `event` with its `result` (NodeEvent lists the results).
  void node(NodeEvent event, std::string_view result);

  // Returns the text of all metrics, with the state of the log in `snapshot`. If `snapshot` is
  // null, the text has no metrics of the log.
  [[nodiscard]] std::string text(storage::Snapshot* snapshot, Timestamp now);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns the label of a listener.
[[nodiscard]] std::string_view name(Listener listener);

}  // namespace assay::server
