// SPDX-License-Identifier: Apache-2.0
// What is counted and measured, in the Prometheus text format. Labels come from closed sets (route
// templates, methods, codes), never from what clients send.
#pragma once

#include <memory>
#include <string>

#include "server/api/dispatch.h"
#include "server/service/services.h"
#include "storage/store.h"

namespace assay::server {

// Thread-safe.
class Metrics {
 public:
  explicit Metrics(const std::string& version);
  ~Metrics();

  void request(const RequestRecord& record);
  void connection(Listener listener, ConnectionEvent event);
  void defect();
  void decision(bool allowed);
  // When the certificate of the listeners ends.
  void certificate_ends(Timestamp end);
  // How far the wall clock lies behind the time in use, and whether ages can be told.
  void clock(std::chrono::milliseconds behind, bool known);
  void node(NodeEvent event, std::string_view result);

  // The text of everything, with the state of the log as `snapshot` sees it (null: left out).
  [[nodiscard]] std::string text(storage::Snapshot* snapshot, Timestamp now);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] std::string_view name(Listener listener);

}  // namespace assay::server
