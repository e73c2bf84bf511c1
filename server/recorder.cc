// SPDX-License-Identifier: Apache-2.0
#include "server/recorder.h"

namespace assay::server {
namespace {

Json request_fields(const RequestRecord& record) {
  Json fields = {{"request_id", record.request_id},
                 {"listener", name(record.listener)},
                 {"method", record.method},
                 {"route", record.route},
                 {"status", record.status},
                 {"duration_us", record.duration.count()},
                 {"bytes", record.bytes}};
  if (!record.principal.empty()) {
    fields["principal"] = record.principal;
  }
  if (!record.code.empty()) {
    fields["code"] = record.code;
  }
  if (!record.why.empty()) {
    fields["why"] = record.why;
  }
  return fields;
}

}  // namespace

void Recorder::on_request(const RequestRecord& record) {
  metrics_.request(record);
  const bool ours = record.status == 500;
  const bool identified = !record.principal.empty();
  const bool probe =
      record.status == 200 && (record.route == "/livez" || record.route == "/readyz");
  if (!ours && !identified && !probe) {
    anonymous_.add(record, clock_.now());
  }
  log_.write(ours         ? LogLevel::kError
             : identified ? LogLevel::kInfo
                          : LogLevel::kDebug,
             "request", request_fields(record));
}

void Recorder::flush(bool all) {
  for (const Json& line : anonymous_.take(clock_.now(), all)) {
    log_.info("anonymous_requests", line);
  }
}

void Recorder::on_connection(Listener listener, ConnectionEvent event) {
  metrics_.connection(listener, event);
}

void Recorder::on_defect(std::string_view what) {
  metrics_.defect();
  log_.error("defect", {{"what", what}});
}

}  // namespace assay::server
