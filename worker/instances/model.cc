// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/model.h"

#include <algorithm>
#include <exception>
#include <map>
#include <system_error>
#include <utility>

namespace assay::worker {

namespace {

constexpr std::size_t kMaxCauses = 64;  // of a report
constexpr std::size_t kMaxCauseLength = 256;

std::vector<const InstanceRegistration*> registrations(
    const std::vector<std::shared_ptr<Owner>>& owners) {
  std::vector<const InstanceRegistration*> result;
  for (const std::shared_ptr<Owner>& owner : owners) {
    result.push_back(&owner->registration());
  }
  return result;
}

// What is wrong with this machine, and not with the memory.
bool is_about_machine(ErrorCode code) {
  return code == ErrorCode::kDeviceFailed || code == ErrorCode::kDeviceSelfTestFailed ||
         code == ErrorCode::kInternal;
}

// Of what processes say of themselves: a sum beyond what a report can state is the largest number
// that it can.
std::uint64_t sum_of(std::uint64_t one, std::uint64_t other) {
  return std::min<std::uint64_t>(one + other, kMaxSafeInteger);
}

}  // namespace

InstanceModel::InstanceModel(std::vector<std::shared_ptr<Owner>> owners, const ArtifactId& artifact,
                             const Manifest& manifest, Checks& checks, Now now,
                             DeviceDriver* driver, bool by_rank)
    : artifact_(manifest.artifact), checks_(checks), now_(std::move(now)), driver_(driver) {
  const std::vector<const InstanceRegistration*> all = registrations(owners);
  ranks_fit_ = check_ranks(artifact, all);
  match_ = match_tensors(artifact_, all, by_rank);
  for (std::shared_ptr<Owner>& owner : owners) {
    wakes_.push_back(std::make_unique<std::stop_callback<Wake>>(owner->ended(), Wake{*this}));
    ranks_.push_back({owner->keep_registration(), owner->peer(), std::move(owner)});
  }
  for (std::size_t i = 0; i < match_.tensors.size(); ++i) {
    ranks_[match_.tensors[i].rank].matched.push_back(i);
  }
  keeper_ = std::jthread([this] { keep(); });
}

InstanceModel::~InstanceModel() { stop_.request_stop(); }

void InstanceModel::keep() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, stop_.get_token(), [] { return false; });
  drop();
}

void InstanceModel::drop() {
  for (Rank& rank : ranks_) {
    rank.check.reset();
    rank.owner.reset();
  }
}

void InstanceModel::release() {
  stop_.request_stop();
  const std::scoped_lock lock(mutex_);
  drop();
}

void InstanceModel::begin_check() {
  const std::scoped_lock lock(mutex_);
  for (const Rank& rank : ranks_) {
    if (rank.owner) {
      rank.owner->begin_check();
    }
  }
}

void InstanceModel::tell(InstanceState state, std::span<const Finding> findings) {
  const std::scoped_lock lock(mutex_);
  tell_all(state, findings);
}

void InstanceModel::tell_all(InstanceState state, std::span<const Finding> findings) {
  for (const Rank& rank : ranks_) {
    if (rank.owner) {
      rank.owner->tell(state, findings);
    }
  }
}

const InstanceTensor& InstanceModel::tensor_of(const Rank& rank, std::size_t matched) const {
  return rank.registration->tensors.at(match_.tensors.at(matched).tensor);
}

Finding InstanceModel::changed(const Rank& rank, std::size_t tensor) const {
  return {Finding::Kind::kChanged, tensor_of(rank, rank.matched.at(tensor)).names.front(),
          "rank " + std::to_string(rank.registration->rank) + ": its bytes are not what they were"};
}

void InstanceModel::hash_rank(Rank& rank, unsigned slices, ExportTime& exports) {
  rank.check.reset();
  rank.error.reset();
  if (!rank.owner) {
    rank.error = Error{ErrorCode::kCancelled, "The memory was let go", {}};
    return;
  }
  rank.owner->begin_check();
  std::vector<std::size_t> tensors;
  for (const std::size_t matched : rank.matched) {
    tensors.push_back(match_.tensors[matched].tensor);
  }
  auto check = checks_.start(rank.owner, std::move(tensors),
                             {artifact_.parameters, slices, stop_.get_token(), &exports, tags_});
  if (check) {
    rank.check = *std::move(check);
  } else {
    rank.error = std::move(check).error();
  }
}

std::vector<InstanceModel::Lane> InstanceModel::lanes() {
  std::map<std::string_view, Lane> by_device;
  for (Rank& rank : ranks_) {
    by_device.try_emplace(rank.registration->device, Lane{ExportTime(now_)})
        .first->second.ranks.push_back(&rank);
  }
  std::vector<Lane> lanes;
  for (auto& [device, lane] : by_device) {
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

void InstanceModel::do_lane(Lane& lane, const Work& work) {
  for (Rank* const rank : lane.ranks) {
    try {
      work(*rank, lane.exports);
    } catch (const std::exception& error) {
      rank->error = Error{ErrorCode::kInternal, error.what(), {}};
    }
  }
}

void InstanceModel::at_once(std::vector<Lane>& lanes, const Work& work) {
  std::vector<std::jthread> threads;
  threads.reserve(lanes.size());
  for (std::size_t i = 1; i < lanes.size(); ++i) {
    try {
      threads.emplace_back([&lane = lanes[i], &work] { do_lane(lane, work); });
    } catch (const std::system_error&) {  // the system has no more threads
      do_lane(lanes[i], work);
    }
  }
  if (!lanes.empty()) {
    do_lane(lanes.front(), work);
  }
}

void InstanceModel::redraw_rank(Rank& rank, std::uint64_t count, ExportTime& exports) {
  rank.redrawn = {};
  if (!rank.check) {
    return;  // its error says why
  }
  rank.error.reset();
  auto redrawn = rank.check->redraw(count, &exports);
  if (redrawn) {
    rank.redrawn = *std::move(redrawn);
  } else {
    rank.error = std::move(redrawn).error();
  }
}

std::set<std::size_t> InstanceModel::add_redrawn(MemoryFacts& facts) const {
  std::set<std::size_t> changed;
  facts.detection = ranks_.empty() ? 0 : 1;
  for (const Rank& rank : ranks_) {
    const Redraw& redrawn = rank.redrawn;
    facts.redrawn += redrawn.drawn;
    // The piece that was replaced may be of any process.
    facts.detection =
        std::min(facts.detection, detection_probability(redrawn.drawn, redrawn.pieces));
    for (const std::size_t tensor : redrawn.changed) {
      changed.insert(rank.matched.at(tensor));
    }
  }
  return changed;
}

void InstanceModel::add_registered(MemoryFacts& facts) const {
  std::set<std::string> containers;
  std::set<std::string> devices;
  for (const Rank& rank : ranks_) {
    const InstanceRegistration& registration = *rank.registration;
    facts.world = registration.world;
    if (!rank.peer.container.empty()) {
      containers.insert(rank.peer.container);
    }
    if (!registration.device.empty()) {
      devices.insert(registration.device);
    }
    for (const InstancePiece& piece : registration.pieces) {
      facts.registered = sum_of(facts.registered, piece.size);
    }
    facts.uncovered = sum_of(facts.uncovered, registration.uncovered_bytes);
    facts.uncovered_count = sum_of(facts.uncovered_count.value_or(0), registration.uncovered_count);
  }
  facts.containers.assign(containers.begin(), containers.end());
  facts.devices.assign(devices.begin(), devices.end());
  facts.extra_tensors = match_.extra;
  std::ranges::sort(facts.extra_tensors, {}, &ExtraTensor::name);
  // Several processes may have it.
  const auto again = std::ranges::unique(facts.extra_tensors, {}, &ExtraTensor::name);
  facts.extra_tensors.erase(again.begin(), again.end());
  facts.extra_tensor_count = match_.extra_count;
}

void InstanceModel::add_reached(MemoryFacts& facts) const {
  std::set<std::string> causes;
  for (const Rank& rank : ranks_) {
    if (!rank.check) {
      continue;
    }
    const Reached& reached = rank.check->reached();
    facts.in_place += reached.in_place;
    facts.staged += reached.staged;
    add_reader(rank, facts);
    for (const std::size_t matched : rank.matched) {
      for (const InstancePart& part : tensor_of(rank, matched).parts) {
        const PieceKind kind = rank.registration->pieces.at(part.piece).kind;
        facts.on_devices += kind == PieceKind::kDevice ? part.size : 0;
      }
    }
    for (const std::string& cause : reached.staged_causes) {
      causes.insert(cause.empty() ? "unknown" : cause.substr(0, kMaxCauseLength));
    }
  }
  for (const std::string& cause : causes) {
    if (facts.staged_causes.size() < kMaxCauses) {
      facts.staged_causes.push_back(cause);
    }
  }
}

void InstanceModel::add_reader(const Rank& rank, MemoryFacts& facts) {
  const gpu_hash::EngineInfo& engine = rank.check->engine();
  MemoryReader reader{.ranks = {rank.registration->rank},
                      .id = engine.id,
                      .name = engine.device,
                      .driver = engine.driver,
                      .uuid = engine.uuid,
                      .pci = engine.pci,
                      .kernel_digest = engine.kernel_digest};
  const auto known = std::ranges::find(facts.read_by, reader.id, &MemoryReader::id);
  if (known == facts.read_by.end()) {
    facts.read_by.push_back(std::move(reader));
  } else {
    known->ranks.push_back(rank.registration->rank);
  }
}

void InstanceModel::add_device_bytes(MemoryFacts& facts) const {
  if (driver_ == nullptr) {
    return;
  }
  std::vector<RegisteredProcess> processes;
  for (const Rank& rank : ranks_) {
    processes.push_back({rank.peer.pid, rank.registration->device});
  }
  facts.device_bytes = device_bytes_of(processes, *driver_);
}

InstanceModel::Hashed InstanceModel::nothing_covered(const Error& why) const {
  Hashed hashed;
  add_registered(hashed.memory);
  for (std::uint64_t i = 0; i < artifact_.entries.size(); ++i) {
    if (std::holds_alternative<TensorEntry>(artifact_.entries[i])) {
      hashed.not_covered.push_back({i, std::string(info(why.code).code)});
    }
  }
  return hashed;
}

InstanceModel::Hashed InstanceModel::gather() const {
  Hashed hashed;
  add_registered(hashed.memory);
  add_reached(hashed.memory);
  add_device_bytes(hashed.memory);
  const std::set<std::size_t> changed = add_redrawn(hashed.memory);
  hashed.bytes = hashed.memory.in_place + hashed.memory.staged;
  std::map<std::uint64_t, Entry> found;
  std::map<std::uint64_t, std::string> left_out;
  for (const Rank& rank : ranks_) {
    for (std::size_t i = 0; i < rank.matched.size(); ++i) {
      const InstanceTensor& tensor = tensor_of(rank, rank.matched[i]);
      const bool covered =
          !rank.error && !has_changed_storage(rank) && !changed.contains(rank.matched[i]);
      for (const std::uint64_t entry : match_.tensors[rank.matched[i]].entries) {
        if (covered) {
          found.emplace(entry, found_entry(std::get<TensorEntry>(artifact_.entries[entry]), tensor,
                                           rank.check->roots().at(i)));
        } else {
          const ErrorCode code = rank.error ? rank.error->code : ErrorCode::kFileChanged;
          left_out.emplace(entry, info(code).code);
        }
      }
    }
  }
  for (auto& [position, entry] : found) {
    hashed.entries.push_back(std::move(entry));
  }
  for (auto& [position, reason] : left_out) {
    hashed.not_covered.push_back({position, std::move(reason)});
  }
  return hashed;
}

Result<InstanceModel::Hashed> InstanceModel::hash(unsigned slices, const std::stop_token& stop,
                                                  bool tags) {
  const std::stop_callback forward(stop, [this] { stop_.request_stop(); });
  const std::scoped_lock lock(mutex_);
  tags_ = tags;
  if (!ranks_fit_) {
    return nothing_covered(ranks_fit_.error());
  }
  std::vector<Lane> all = lanes();
  at_once(all, [&](Rank& rank, ExportTime& exports) { hash_rank(rank, slices, exports); });
  at_once(all, [](Rank& rank, ExportTime& exports) { redraw_rank(rank, kRedrawnPieces, exports); });
  Hashed hashed = gather();
  if (stop.stop_requested()) {
    drop();
    return fail(ErrorCode::kCancelled, "The work was stopped on request");
  }
  for (const Rank& rank : ranks_) {
    if (rank.error && is_about_machine(rank.error->code)) {
      const Error error = *rank.error;
      const Finding why{Finding::Kind::kError, {}, error.detail};
      tell_all(InstanceState::kUnknown, {&why, 1});
      drop();
      return std::unexpected(error);
    }
  }
  return hashed;
}

std::optional<InstanceModel::Place> InstanceModel::place_of(std::uint64_t entry) {
  for (Rank& rank : ranks_) {
    for (std::size_t i = 0; i < rank.matched.size(); ++i) {
      const std::vector<std::uint64_t>& entries = match_.tensors[rank.matched[i]].entries;
      if (std::ranges::binary_search(entries, entry)) {
        return rank.check ? std::optional(Place{&rank, i}) : std::nullopt;
      }
    }
  }
  return std::nullopt;
}

Result<std::vector<OutlineSubmission::Item>> InstanceModel::outline(
    const std::vector<std::uint64_t>& entries, std::uint64_t span, const std::stop_token& stop) {
  const std::stop_callback forward(stop, [this] { stop_.request_stop(); });
  const std::scoped_lock lock(mutex_);
  std::vector<OutlineSubmission::Item> items;
  for (std::size_t at = 0; at < entries.size();) {
    ASSAY_TRY(outline_some(entries, span, at, items));
  }
  return items;
}

// Entries from `at` on of one process, so many that their digests fit one answer of a reader.
Status InstanceModel::outline_some(const std::vector<std::uint64_t>& entries, std::uint64_t span,
                                   std::size_t& at, std::vector<OutlineSubmission::Item>& items) {
  constexpr std::uint64_t kMostDigests = std::uint64_t{1} << 17;
  Rank* rank = nullptr;
  std::vector<std::size_t> tensors;
  const std::size_t first = at;
  for (std::uint64_t count = 0; at < entries.size(); ++at) {
    const std::optional<Place> place = place_of(entries[at]);
    if (!place) {
      return fail(ErrorCode::kNotFound, "This tensor was not hashed, or its memory was let go");
    }
    count += size_of(tensor_of(*place->rank, place->rank->matched.at(place->tensor))) /
                 std::max<std::uint64_t>(span, 1) +
             2;
    if (rank != nullptr && (rank != place->rank || count > kMostDigests)) {
      break;
    }
    rank = place->rank;
    tensors.push_back(place->tensor);
  }
  ASSAY_ASSIGN(std::vector<gpu_hash::ObjectDigests> digests, rank->check->outline(tensors, span));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    items.push_back({entries[first + i], std::move(digests.at(i).outline)});
  }
  return {};
}

unsigned InstanceModel::slices() {
  const std::scoped_lock lock(mutex_);
  unsigned count = 0;
  for (const Rank& rank : ranks_) {
    count += rank.check ? rank.check->slices() : 0;
  }
  return count;
}

}  // namespace assay::worker
