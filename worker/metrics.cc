// SPDX-License-Identifier: Apache-2.0
#include "worker/metrics.h"

#include <exception>
#include <string>

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace assay::worker {

namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;

double seconds_of(Timestamp time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

struct Metrics::Impl {
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  Family<Counter>& jobs = BuildCounter()
                              .Name("worker_jobs_total")
                              .Help("Jobs that ended, by what came out.")
                              .Register(*registry);
  Counter& bytes = BuildCounter()
                       .Name("worker_hashed_bytes_total")
                       .Help("Bytes hashed for reports.")
                       .Register(*registry)
                       .Add({});
  Gauge& enrolment = BuildGauge()
                         .Name("worker_enrolment_expires_timestamp_seconds")
                         .Help("When the enrolment is over; 0 before the first one.")
                         .Register(*registry)
                         .Add({});
  Gauge& contact = BuildGauge()
                       .Name("worker_last_contact_timestamp_seconds")
                       .Help("When the service answered last; 0 before the first answer.")
                       .Register(*registry)
                       .Add({});
  Counter& readers = BuildCounter()
                         .Name("worker_reader_failures_total")
                         .Help("Processes that read memory and failed: they ended or hung.")
                         .Register(*registry)
                         .Add({});
  std::unique_ptr<prometheus::Exposer> exposer;  // last: it reads the registry
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {
  for (const char* result :
       {"verified", "mismatch", "incomplete", "lost", "refused", "unmapped", "failed"}) {
    impl_->jobs.Add({{"result", result}});
  }
}

Metrics::~Metrics() = default;

Result<std::uint16_t> Metrics::serve(std::uint16_t port) {
  try {
    impl_->exposer = std::make_unique<prometheus::Exposer>("127.0.0.1:" + std::to_string(port), 1);
    impl_->exposer->RegisterCollectable(impl_->registry);
    return static_cast<std::uint16_t>(impl_->exposer->GetListeningPorts().front());
  } catch (const std::exception&) {
    return fail(ErrorCode::kUsage,
                "Port " + std::to_string(port) + " on 127.0.0.1 cannot be served; choose another");
  }
}

void Metrics::job(std::string_view result) {
  impl_->jobs.Add({{"result", std::string(result)}}).Increment();
}

void Metrics::hashed(std::uint64_t bytes) { impl_->bytes.Increment(static_cast<double>(bytes)); }

void Metrics::enrolled_until(Timestamp time) { impl_->enrolment.Set(seconds_of(time)); }

void Metrics::contact(Timestamp time) { impl_->contact.Set(seconds_of(time)); }

void Metrics::reader_failed() { impl_->readers.Increment(); }

}  // namespace assay::worker
