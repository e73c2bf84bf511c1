// SPDX-License-Identifier: Apache-2.0
// Jobs of scope device-memory: what registered processes hold in memory (docs/instances.md).
#include <exception>
#include <utility>

#include "schemas/core/error_json.h"
#include "schemas/core/sha.h"
#include "worker/job.h"

namespace assay::worker {

namespace {

// What the owners of memory are told when the service does not call it verified.
std::vector<Finding> findings_of(const InstanceModel& instance, const Manifest& manifest,
                                 const VerificationReport& report) {
  std::vector<Finding> findings = instance.findings();
  auto expected = manifest.artifact.entries.begin();
  for (const Entry& entry : report.entries) {
    while (order_of(*expected) != order_of(entry)) {
      ++expected;
    }
    if (root_of(*expected) != root_of(entry) && findings.size() < kMaxFindings) {
      findings.push_back({Finding::Kind::kMismatch, std::get<TensorEntry>(entry).name,
                          "its bytes are not those of the manifest"});
    }
  }
  for (const NotCovered& item : report.not_covered) {
    if (findings.size() >= kMaxFindings) {
      break;
    }
    findings.push_back({Finding::Kind::kError, {}, "not covered: " + item.reason});
  }
  return findings;
}

}  // namespace

Status LeasedJob::find_instance() {
  if (parts_.instances != nullptr) {
    owners_ = parts_.instances->find(lease_.instance->pod, lease_.instance->instance);
  }
  if (owners_.empty()) {
    std::string detail =
        "No process registered instance " + lease_.instance->instance + " with this node agent";
    if (parts_.instances != nullptr) {
      why_missing_ = parts_.instances->refused(lease_.instance->pod, lease_.instance->instance);
    }
    if (why_missing_) {
      detail += "; the last registration of its pod was refused: " + why_missing_->code + ": " +
                why_missing_->detail;
    }
    return fail(ErrorCode::kInstanceMissing, std::move(detail));
  }
  return {};
}

Status LeasedJob::read_memory(const Manifest& manifest, VerificationReport& report) {
  if (parts_.checks == nullptr) {
    return fail(ErrorCode::kInternal, "Nothing reads memory for this node agent");
  }
  instance_ = std::make_shared<InstanceModel>(std::move(owners_), lease_.artifact, manifest,
                                              *parts_.checks, &Steady::now, parts_.driver);
  Result<InstanceModel::Hashed> hashed = fail(ErrorCode::kInternal, "Hashing ended early");
  const WatchPlan plan = parts_.watch != nullptr ? parts_.watch->plan() : WatchPlan{.slices = 1};
  ASSAY_TRY(aside([&](const std::stop_token& stop) {
    try {
      hashed = instance_->hash(plan.slices, stop, plan.check != WatchCheck::kSha256);
    } catch (const std::exception& error) {
      hashed = fail(ErrorCode::kInternal, error.what());
    }
  }));
  ASSAY_TRY(hashed);
  report.entries = hashed->entries;
  found_ = std::move(hashed->entries);
  report.not_covered = std::move(hashed->not_covered);
  report.memory = std::move(hashed->memory);
  report.bytes = hashed->bytes;
  findings_ = findings_of(*instance_, manifest, report);
  return {};
}

Result<std::vector<OutlineSubmission::Item>> LeasedJob::outline(const ReportAnswer& wanted,
                                                                const std::stop_token& stop) {
  if (instance_) {
    return instance_->outline(wanted.entries, wanted.span, stop);
  }
  if (model_) {
    auto outlined = model_->outline(*engine_, wanted.entries, wanted.span, stop);
    if (!outlined && takes_fallback(outlined.error())) {
      outlined = model_->outline(*engine_, wanted.entries, wanted.span, stop);
    }
    return outlined;
  }
  return fail(ErrorCode::kNotFound, "Nothing was hashed");
}

void LeasedJob::conclude(const ReportAnswer& answer, const ReportSubmission& submission) {
  if (!instance_) {
    return;
  }
  const bool verified = answer.state == ReportAnswer::State::kVerified && findings_.empty();
  const bool violated =
      answer.state == ReportAnswer::State::kMismatch || !instance_->findings().empty();
  const InstanceState state = verified   ? InstanceState::kVerified
                              : violated ? InstanceState::kViolated
                                         : InstanceState::kUnknown;
  if (verified && parts_.watch != nullptr) {
    const DocumentId report(sha256(submission.envelope));
    parts_.watch->watch(*lease_.instance, lease_.artifact, report, std::move(found_),
                        std::move(instance_));
    return;
  }
  instance_->tell(state, findings_);
  if (parts_.watch != nullptr) {
    parts_.watch->note({*lease_.instance, lease_.artifact, state, std::nullopt}, findings_);
  }
}

}  // namespace assay::worker
