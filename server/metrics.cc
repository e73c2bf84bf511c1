// SPDX-License-Identifier: Apache-2.0
#include "server/metrics.h"

#include <map>
#include <mutex>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace assay::server {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

// 1 ms to 30 s: admission may take up to 30 s in Kubernetes.
const Histogram::BucketBoundaries& buckets() {
  static const Histogram::BucketBoundaries boundaries = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
  return boundaries;
}

Family<Counter>& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(registry);
}

Family<Gauge>& gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(registry);
}

Family<Histogram>& histogram(prometheus::Registry& registry, const char* name, const char* help) {
  return BuildHistogram().Name(name).Help(help).Register(registry);
}

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry;
  Family<Counter>& requests =
      counter(registry, "http_requests_total", "Requests answered, by route template.");
  Family<Counter>& problems =
      counter(registry, "http_problems_total", "Requests that ended with an error, by its code.");
  Family<Histogram>& durations = histogram(registry, "http_request_duration_seconds",
                                           "From the header of a request to its written answer.");
  Family<Histogram>& admissions = histogram(registry, "admission_duration_seconds",
                                            "The same for Kubernetes admission reviews.");
  Family<Counter>& accepted =
      counter(registry, "http_connections_total", "Connections accepted or turned away.");
  Family<Gauge>& open = gauge(registry, "http_connections_open", "Connections that are open.");
  Family<Counter>& decisions =
      counter(registry, "decisions_total", "Decisions answered, by verdict.");
  Family<Counter>& enrolments =
      counter(registry, "node_enrolments_total", "Enrolments of nodes, by result.");
  Family<Counter>& evidence =
      counter(registry, "evidence_verifications_total", "Appraisals of evidence, by result.");
  Family<Counter>& leases =
      counter(registry, "job_leases_total", "Questions for a job, by what came of them.");
  Family<Counter>& jobs =
      counter(registry, "jobs_finished_total", "Verification jobs that ended, by result.");
  Counter& defects =
      counter(registry, "defects_total", "Exceptions that should not happen.").Add({});
  Gauge& lines_lost = gauge(registry, "logging_lines_lost_total",
                            "Lines of the service's own log that were lost since the start.")
                          .Add({});
  Gauge& entries = gauge(registry, "log_entries_total", "Entries of the transparency log.").Add({});
  Gauge& age =
      gauge(registry, "log_newest_entry_age_seconds", "Age of the log's newest entry.").Add({});
  Gauge& clock_lag =
      gauge(registry, "clock_behind_seconds", "How far the wall clock lies behind the time in use.")
          .Add({});
  Gauge& clock_known =
      gauge(registry, "clock_known", "1 while ages can be told; 0: no decisions are made.").Add({});
  Gauge& certificate = gauge(registry, "tls_certificate_expiry_timestamp_seconds",
                             "When the certificate of the listeners ends.")
                           .Add({});
  Family<Gauge>& collateral =
      gauge(registry, "collateral_seconds_to_next_update",
            "Until the first part of this kind of collateral ends; negative: it has ended.");
  std::mutex collateral_mutex;
  std::map<std::string, Timestamp> collateral_ends;  // by kind
  Family<Gauge>& build = gauge(registry, "build_info", "1, with the version.");
};

Metrics::Metrics(const std::string& version) : impl_(std::make_unique<Impl>()) {
  impl_->build.Add({{"version", version}}).Set(1);
  for (const char* verdict : {"allow", "deny"}) {
    impl_->decisions.Add({{"verdict", verdict}});
  }
  for (const char* result : {"verified", "mismatch", "incomplete", "failed"}) {
    impl_->jobs.Add({{"result", result}});
  }
  for (const char* result : {"enrolled", "renewed", "superseded", "refused"}) {
    impl_->enrolments.Add({{"result", result}});
  }
  for (const char* result : {"accepted", "rejected"}) {
    impl_->evidence.Add({{"result", result}});
  }
}

Metrics::~Metrics() = default;

std::string_view name(Listener listener) {
  return listener == Listener::kApi ? "api" : "admission";
}

void Metrics::request(const RequestRecord& record) {
  const double seconds = std::chrono::duration<double>(record.duration).count();
  impl_->requests
      .Add({{"route", record.route},
            {"method", record.method},
            {"code", std::to_string(record.status)}})
      .Increment();
  impl_->durations.Add({{"route", record.route}}, buckets()).Observe(seconds);
  if (record.listener == Listener::kAdmission && record.route != "-") {
    impl_->admissions.Add({}, buckets()).Observe(seconds);
  }
  if (!record.code.empty()) {
    impl_->problems.Add({{"code", record.code}}).Increment();
  }
}

void Metrics::connection(Listener listener, ConnectionEvent event) {
  const std::string own(name(listener));
  const auto count = [&](const char* result) {
    impl_->accepted.Add({{"listener", own}, {"result", result}}).Increment();
  };
  switch (event) {
    case ConnectionEvent::kAccepted:
      count("accepted");
      impl_->open.Add({{"listener", own}}).Increment();
      return;
    case ConnectionEvent::kTurnedAway:
      count("turned_away");
      return;
    case ConnectionEvent::kHandshakeFailed:
      count("handshake_failed");
      return;
    case ConnectionEvent::kClosed:
      impl_->open.Add({{"listener", own}}).Decrement();
      return;
  }
}

void Metrics::defect() { impl_->defects.Increment(); }

void Metrics::decision(bool allowed) {
  impl_->decisions.Add({{"verdict", allowed ? "allow" : "deny"}}).Increment();
}

void Metrics::clock(std::chrono::milliseconds behind, bool known) {
  impl_->clock_lag.Set(std::chrono::duration<double>(behind).count());
  impl_->clock_known.Set(known ? 1 : 0);
}

void Metrics::log_lines_lost(std::uint64_t lost) {
  impl_->lines_lost.Set(static_cast<double>(lost));
}

void Metrics::certificate_ends(Timestamp end) {
  impl_->certificate.Set(std::chrono::duration<double>(end.time_since_epoch()).count());
}

void Metrics::collateral_ends(const std::string& kind, Timestamp next_update) {
  const std::scoped_lock lock(impl_->collateral_mutex);
  impl_->collateral_ends[kind] = next_update;
}

void Metrics::node(NodeEvent event, std::string_view result) {
  const auto family = [&]() -> Family<Counter>& {
    switch (event) {
      case NodeEvent::kEnrolment:
        return impl_->enrolments;
      case NodeEvent::kEvidence:
        return impl_->evidence;
      case NodeEvent::kLease:
        return impl_->leases;
      case NodeEvent::kJob:
        break;
    }
    return impl_->jobs;
  };
  family().Add({{"result", std::string(result)}}).Increment();
}

std::string Metrics::text(storage::Snapshot* snapshot, Timestamp now) {
  const auto state = snapshot == nullptr
                         ? Result<storage::LogState>(fail(ErrorCode::kUnavailable, ""))
                         : snapshot->log_state();
  if (state) {
    impl_->entries.Set(static_cast<double>(state->size));
  }
  if (state && state->size > 0) {
    const auto bytes = snapshot->log_record(state->size - 1);
    const auto record =
        bytes ? parse_log_record(*bytes) : Result<LogRecord>(std::unexpected(bytes.error()));
    if (record) {
      impl_->age.Set(std::chrono::duration<double>(now - record->time).count());
    }
  }
  {
    const std::scoped_lock lock(impl_->collateral_mutex);
    for (const auto& [kind, end] : impl_->collateral_ends) {
      impl_->collateral.Add({{"part", kind}}).Set(std::chrono::duration<double>(end - now).count());
    }
  }
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace assay::server
