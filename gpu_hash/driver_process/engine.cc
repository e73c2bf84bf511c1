// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/driver_process/engine.h"

#include <algorithm>
#include <iterator>
#include <stop_token>
#include <utility>

#include "gpu_hash/driver_process/request.h"

namespace assay::gpu_hash {
namespace {

std::unexpected<Error> stopped() {
  return fail(ErrorCode::kCancelled, "the work was stopped on request");
}

// Waits for the answer to Go.
Status receive_answer(DriverProcess& process, const DriverTimes& times, const HashRequest& request,
                      const RequestSender& sender, AnswerReader& answer) {
  std::uint64_t hashed = 0;
  auto advanced = Steady::now();
  while (true) {
    ASSAY_ASSIGN(const driver::FromProcess message, process.receive(times.silent));
    if (const auto* const failed = std::get_if<driver::Failed>(&message)) {
      return std::unexpected(DriverProcess::error_of(*failed));
    }
    if (const auto* const done = std::get_if<driver::Done>(&message)) {
      if (!answer.is_complete()) {
        return process.nonsense("digests are missing");
      }
      if (!sender.note(done->protections)) {
        return process.nonsense("it does not say how it read the files");
      }
      if (request.progress && hashed < answer.bytes()) {
        request.progress(answer.bytes());
      }
      return {};
    }
    if (const auto* const digests = std::get_if<driver::Digests>(&message)) {
      if (digests->digests.empty() || !answer.add(digests->digests)) {
        return process.nonsense("it sends other digests than it was asked for");
      }
      advanced = Steady::now();
      continue;
    }
    const auto* const progress = std::get_if<driver::Progress>(&message);
    if (progress == nullptr || progress->bytes < hashed || progress->bytes > answer.bytes()) {
      return process.nonsense("it answers what it was not asked");
    }
    if (progress->bytes > hashed) {
      hashed = progress->bytes;
      advanced = Steady::now();
    } else if (Steady::now() - advanced > times.stalled) {
      return process.nonsense("it says that it works and hashes nothing");
    }
    if (request.progress) {
      request.progress(hashed);
    }
  }
}

}  // namespace

Result<std::unique_ptr<ProcessEngine>> ProcessEngine::create(
    DriverProgram program, DevicePlace place, const EngineOptions& options,
    std::unique_ptr<DriverProcess> process) {
  std::unique_ptr<ProcessEngine> engine(
      new ProcessEngine(std::move(program), std::move(place), options));
  engine->process_ = std::move(process);
  ASSAY_ASSIGN(engine->info_, engine->open());
  return engine;
}

Result<EngineInfo> ProcessEngine::open() {
  const std::string what = place_.id + " (" + place_.name + ")";
  if (!process_) {
    ASSAY_ASSIGN(process_, DriverProcess::start(program_, place_.vendors, what));
  }
  process_->rename(what);
  ASSAY_ASSIGN(const driver::Opened opened,
               process_->ask<driver::Opened>(driver::open_of(place_.index, options_),
                                             program_.times.silent));
  auto info = driver::info_of(opened, place_.id);
  if (!info || info->device != place_.name) {
    return process_->nonsense("it has another device");
  }
  return info;
}

// Starts a process when there is none.
Status ProcessEngine::revive() {
  if (process_ && process_->is_idle()) {
    return {};
  }
  process_.reset();
  ASSAY_ASSIGN(const EngineInfo info, open());
  if (info != info_) {
    return process_->nonsense("it has another device or driver");
  }
  return {};
}

Result<std::vector<ObjectDigests>> ProcessEngine::hash(std::span<const Region> regions,
                                                       const HashRequest& request) {
  ASSAY_TRY(check(request));
  ASSAY_ASSIGN(std::vector<std::uint64_t> sizes, region_sizes(regions));
  return call(regions, std::move(sizes), request, nullptr);
}

Result<Derived> ProcessEngine::derive(const DeriveRequest& derivation, const HashRequest& request) {
  ASSAY_TRY(check(request));
  ASSAY_TRY(check(derivation, derive_room()));
  const std::vector<Region> sources = sources_of(derivation);
  ASSAY_ASSIGN(std::vector<std::uint64_t> sizes, region_sizes(sources));
  const std::vector<std::uint64_t> results = results_of(derivation);
  sizes.insert(sizes.end(), results.begin(), results.end());
  ASSAY_ASSIGN(std::vector<ObjectDigests> all,
               call(sources, std::move(sizes), request, &derivation));
  Derived derived;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(sources.size());
  derived.results.assign(std::make_move_iterator(first), std::make_move_iterator(all.end()));
  all.erase(first, all.end());
  derived.sources = std::move(all);
  return derived;
}

Result<std::vector<ObjectDigests>> ProcessEngine::call(std::span<const Region> regions,
                                                       std::vector<std::uint64_t> sizes,
                                                       const HashRequest& request,
                                                       const DeriveRequest* derivation) {
  const std::scoped_lock lock(mutex_);
  if (request.stop.stop_requested()) {
    return stopped();
  }
  AnswerReader answer(std::move(sizes), request);
  Status status = revive();
  if (status) {
    const std::stop_callback on_stop(request.stop, [this] { process_->abandon(); });
    RequestSender sender(*process_, regions);
    status = sender.send(request, derivation);
    if (status) {
      status = receive_answer(*process_, program_.times, request, sender, answer);
    }
    if (!status) {
      status = std::unexpected(sender.with_label(std::move(status).error()));
    }
  }
  if (request.stop.stop_requested()) {
    process_.reset();
    return stopped();
  }
  if (!status) {
    // A call that was not sent whole leaves the process waiting; a device that failed, broken.
    process_.reset();
    return std::unexpected(std::move(status).error());
  }
  return answer.take();
}

}  // namespace assay::gpu_hash
