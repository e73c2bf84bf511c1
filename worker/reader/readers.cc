// SPDX-License-Identifier: Apache-2.0
#include "worker/reader/readers.h"

#include <algorithm>
#include <utility>

#include "worker/reader/reader_check.h"

namespace assay::worker {
namespace {

constexpr int kTries = 3;
constexpr const char* kShared = "*";  // in place of the uid of a pod

}  // namespace

Readers::Readers(gpu_hash::Engine& engine, ReadersSetup setup)
    : engine_(engine), setup_(std::move(setup)) {}

Readers::~Readers() = default;

std::shared_ptr<Reader> Readers::make(const gpu_hash::EngineInfo& engine,
                                      const std::shared_ptr<Place>& place) const {
  ReaderSetup setup{.program = setup_.program,
                    .arguments = setup_.arguments,
                    .build = setup_.build,
                    .engine = engine,
                    .times = setup_.times};
  setup.arguments.push_back(engine.id);
  const std::weak_ptr<Place> known = place;
  setup.tell = [known, tell = setup_.tell, pause = setup_.pause,
                longest = setup_.longest](const ReaderNews& news) {
    const std::shared_ptr<Place> its = known.lock();
    if (its && news.error) {
      const std::scoped_lock lock(its->mutex);
      constexpr unsigned kMostDoublings = 20;
      const auto wait = pause * (std::uint64_t{1} << std::min(its->failures, kMostDoublings));
      // The first failure after a quiet time costs no pause.
      const bool again = Steady::now() < its->not_before + longest;
      its->failures = again ? its->failures + 1 : 0;
      its->not_before =
          Steady::now() + (again ? std::min<Steady::duration>(wait, longest) : Steady::duration());
    }
    tell(news);
  };
  return std::make_shared<Reader>(std::move(setup));
}

std::shared_ptr<Readers::Place> Readers::place_of(const std::string& device,
                                                  const std::string& pod) {
  std::vector<std::shared_ptr<Place>> over;  // go without the lock: they wait for their processes
  const std::scoped_lock lock(mutex_);
  std::size_t own = 0;  // other pods with a process of their own for this device
  for (auto item = places_.begin(); item != places_.end();) {
    Place& place = *item->second;
    const std::scoped_lock place_lock(place.mutex);
    const bool lives = (place.reader && place.reader->is_usable()) || item->second.use_count() > 1;
    // A pause after failures is remembered for as long as it matters.
    if (!lives && Steady::now() >= place.not_before + setup_.longest) {
      over.push_back(std::move(item->second));
      item = places_.erase(item);
      continue;
    }
    const auto& [its_device, its_pod] = item->first;
    own += lives && its_device == device && its_pod != kShared && its_pod != pod ? 1U : 0U;
    ++item;
  }
  std::shared_ptr<Place>& place = places_[{device, own < setup_.pods ? pod : kShared}];
  if (!place) {
    place = std::make_shared<Place>();
  }
  return place;
}

Result<std::shared_ptr<Reader>> Readers::reader_of(const gpu_hash::EngineInfo& engine,
                                                   const std::string& pod) {
  const std::shared_ptr<Place> place = place_of(engine.id, pod);
  std::shared_ptr<Reader> old;  // goes without the lock, which its last words need
  const std::scoped_lock lock(place->mutex);
  if (place->reader && place->reader->is_usable()) {
    return place->reader;
  }
  if (Steady::now() < place->not_before) {
    return fail(ErrorCode::kDeviceFailed,
                "The process that reads memory of " + engine.id +
                    " failed more than once; it is started again after a pause");
  }
  old = std::exchange(place->reader, make(engine, place));
  return place->reader;
}

Result<std::unique_ptr<MemoryCheck>> Readers::start(std::shared_ptr<Owner> owner,
                                                    std::vector<std::size_t> tensors,
                                                    const CheckOptions& options) {
  ASSAY_ASSIGN(const gpu_hash::Engine* const engine, engine_for(engine_, owner->registration()));
  for (int tries = 0; tries < kTries; ++tries) {
    ASSAY_ASSIGN(std::shared_ptr<Reader> reader, reader_of(engine->info(), owner->peer().pod));
    auto check = ReaderCheck::start(std::move(reader), owner, tensors, options);
    if (check) {
      const Reached& reached = (*check)->reached();
      setup_.tell_pass({engine->info().id, reached.in_place + reached.staged,
                        owner->registration().pieces.size(), (*check)->times()});
    }
    // It was about to end for want of work: another one is started.
    if (check || check.error().code != ErrorCode::kUnavailable) {
      return check;
    }
  }
  return fail(ErrorCode::kDeviceFailed, "No process that reads memory stays");
}

}  // namespace assay::worker
