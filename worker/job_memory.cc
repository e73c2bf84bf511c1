// SPDX-License-Identifier: Apache-2.0
// Jobs of scope device-memory: what registered processes hold in memory (docs/instances.md).
#include <exception>
#include <utility>

#include "schemas/core/error_json.h"
#include "schemas/core/hub_name.h"
#include "schemas/core/sha.h"
#include "worker/job.h"
#include "worker/recipe/recipe.h"

namespace assay::worker {

namespace {

// The files of the model on this node, as a layout reads them.
class FileBytes final : public EntryBytes {
 public:
  explicit FileBytes(const NodeModel& files) : files_(files) {}
  [[nodiscard]] Result<gpu_hash::Region> region(std::uint64_t entry, std::uint64_t offset,
                                                std::uint64_t size) override {
    return files_.region(entry, offset, size);
  }

 private:
  const NodeModel& files_;
};

// Whether an error ends the job: the fault of this machine, not of the layout or the files.
bool ends_job(ErrorCode code) {
  return code == ErrorCode::kCancelled || code == ErrorCode::kInternal ||
         code == ErrorCode::kDeviceFailed || code == ErrorCode::kDeviceSelfTestFailed;
}

// Returns the finding about a tensor of a rank: another shard lies in its place, or other bytes.
std::string of_rank(const Artifact& expected, const Entry& found) {
  std::string text = file_of(found) + ": its bytes are not those of the layout";
  for (const Entry& other : expected.entries) {
    if (root_of(other) == root_of(found)) {
      return text + ", but those of " + label_of(other);
    }
  }
  return text;
}

// What the owners of memory are told when the service does not call it verified.
std::vector<Finding> findings_of(const InstanceModel& instance, const InstanceModel::Hashed& hashed,
                                 bool by_rank) {
  std::vector<Finding> findings = instance.findings();
  auto expected = instance.artifact().entries.begin();
  for (const Entry& entry : hashed.entries) {
    while (order_of(*expected) != order_of(entry)) {
      ++expected;
    }
    if (root_of(*expected) != root_of(entry) && findings.size() < kMaxFindings) {
      findings.push_back({Finding::Kind::kMismatch, std::get<TensorEntry>(entry).name,
                          by_rank ? of_rank(instance.artifact(), entry)
                                  : "its bytes are not those of the manifest"});
    }
  }
  for (const NotCovered& item : hashed.not_covered) {
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
  Result<std::optional<LaidOut>> laid = fail(ErrorCode::kInternal, "Hashing ended early");
  ASSAY_TRY(aside([&](const std::stop_token& stop) {
    try {
      laid = lay_out(manifest, stop);
    } catch (const std::exception& error) {
      laid = fail(ErrorCode::kInternal, error.what());
    }
  }));
  if (!laid && ends_job(laid.error().code)) {
    return std::unexpected(laid.error());
  }
  const bool by_rank = laid && *laid;
  instance_ = std::make_shared<InstanceModel>(std::move(owners_), lease_.artifact,
                                              by_rank ? (*laid)->expected() : manifest,
                                              *parts_.checks, &Steady::now, parts_.driver, by_rank);
  if (!laid) {
    InstanceModel::Hashed nothing = instance_->nothing_covered(laid.error());
    parts_.events.tell("layout-refused",
                       {{"job", lease_.job}, {"error", error_json(laid.error())}});
    report.not_covered = std::move(nothing.not_covered);
    report.memory = std::move(nothing.memory);
    laid_out_ = false;
    findings_ = {{Finding::Kind::kError,
                  {},
                  std::string(info(laid.error().code).code) + ": " + laid.error().detail + " " +
                      laid.error().where}};
    return {};
  }
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
  found_ = hashed->entries;
  findings_ = findings_of(*instance_, *hashed, by_rank);
  if (by_rank) {
    (*laid)->translate(manifest.artifact, *hashed);
    hashed->memory.layout = (*laid)->facts();
  }
  report.entries = std::move(hashed->entries);
  report.not_covered = std::move(hashed->not_covered);
  report.memory = std::move(hashed->memory);
  report.bytes = hashed->bytes;
  return {};
}

Result<NodeModel> LeasedJob::files_of(const Manifest& manifest, const std::stop_token& stop) const {
  for (const std::string& location : manifest.locations) {
    const auto place = parts_.map.find(location, std::nullopt);
    const auto path = place ? resolve_place(*place) : std::unexpected(place.error());
    if (path) {
      return NodeModel::find(*path, manifest, {}, stop, is_hub_repository(location));
    }
  }
  return fail(ErrorCode::kLayoutNeedsFiles,
              "No location of the manifest has a directory on this node");
}

Result<std::optional<LaidOut>> LeasedJob::lay_out(const Manifest& manifest,
                                                  const std::stop_token& stop) {
  ASSAY_ASSIGN(const RegisteredLayout registered, layout_of(owners_));
  if (registered.published) {
    ASSAY_ASSIGN(Manifest tensors, parts_.service.manifest(*registered.published, {}));
    ASSAY_ASSIGN(LaidOut laid, LaidOut::published(*registered.published, std::move(tensors),
                                                  owners_.front()->registration().world));
    return laid;
  }
  if (registered.layout == nullptr) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(LaidOut laid, LaidOut::make(*registered.layout, lease_.artifact, manifest, [&] {
                 return roots_of(*registered.layout, manifest, stop);
               }));
  return laid;
}

Result<LaidOut::Roots> LeasedJob::roots_of(const Layout& layout, const Manifest& manifest,
                                           const std::stop_token& stop) {
  const LayoutId id = id_of(layout);
  if (parts_.roots != nullptr) {
    if (auto known = parts_.roots->find(lease_.artifact, id)) {
      return std::move(*known);
    }
  }
  const Steady::time_point begin = Steady::now();
  ASSAY_ASSIGN(const NodeModel files, files_of(manifest, stop));
  FileBytes bytes(files);
  const Artifact& artifact = manifest.artifact;
  auto roots = expected_roots(layout, artifact, bytes, *engine_, stop);
  if (!roots && takes_fallback(roots.error())) {
    roots = expected_roots(layout, artifact, bytes, *engine_, stop);
  }
  ASSAY_TRY(roots);
  if (parts_.roots != nullptr) {
    parts_.roots->keep(lease_.artifact, id, *roots);
  }
  const std::chrono::duration<double> time = Steady::now() - begin;
  parts_.events.tell("layout-computed", {{"job", lease_.job},
                                         {"layout", id.text()},
                                         {"device", engine_->info().id},
                                         {"seconds", time.count()}});
  return roots;
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
  const bool violated = laid_out_ && (answer.state == ReportAnswer::State::kMismatch ||
                                      !instance_->findings().empty());
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
