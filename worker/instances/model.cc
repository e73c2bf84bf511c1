// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/model.h"

#include <algorithm>
#include <map>
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

}  // namespace

InstanceModel::InstanceModel(std::vector<std::shared_ptr<Owner>> owners, const ArtifactId& artifact,
                             const Manifest& manifest, Checks& checks, Now now)
    : artifact_(manifest.artifact), checks_(checks), now_(std::move(now)) {
  const std::vector<const InstanceRegistration*> all = registrations(owners);
  ranks_fit_ = check_ranks(artifact, all);
  match_ = match_tensors(artifact_, all);
  for (std::shared_ptr<Owner>& owner : owners) {
    wakes_.push_back(std::make_unique<std::stop_callback<Wake>>(owner->ended(), Wake{*this}));
    ranks_.push_back({owner->registration(), owner->peer(), std::move(owner)});
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
  return rank.registration.tensors.at(match_.tensors.at(matched).tensor);
}

Finding InstanceModel::changed(const Rank& rank, std::size_t tensor) const {
  return {Finding::Kind::kChanged, tensor_of(rank, rank.matched.at(tensor)).names.front(),
          "rank " + std::to_string(rank.registration.rank) + ": its bytes are not what they were"};
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

std::set<std::size_t> InstanceModel::redraw_all(MemoryFacts& facts, ExportTime& exports) {
  std::set<std::size_t> changed;
  facts.detection = ranks_.empty() ? 0 : 1;
  for (Rank& rank : ranks_) {
    auto redraw = rank.check ? rank.check->redraw(kRedrawnPieces, &exports) : Redraw();
    if (!redraw) {
      rank.error = std::move(redraw).error();
      facts.detection = 0;
      continue;
    }
    facts.redrawn += redraw->drawn;
    // The piece that was replaced may be of any process.
    facts.detection =
        std::min(facts.detection, detection_probability(redraw->drawn, redraw->pieces));
    for (const std::size_t tensor : redraw->changed) {
      changed.insert(rank.matched.at(tensor));
    }
  }
  return changed;
}

void InstanceModel::add_registered(MemoryFacts& facts) const {
  std::set<std::string> containers;
  std::set<std::string> devices;
  for (const Rank& rank : ranks_) {
    const InstanceRegistration& registration = rank.registration;
    facts.world = registration.world;
    if (!rank.peer.container.empty()) {
      containers.insert(rank.peer.container);
    }
    if (!registration.device.empty()) {
      devices.insert(registration.device);
    }
    for (const InstancePiece& piece : registration.pieces) {
      facts.registered += piece.size;
    }
    facts.uncovered += registration.uncovered_bytes;
  }
  facts.containers.assign(containers.begin(), containers.end());
  facts.devices.assign(devices.begin(), devices.end());
  facts.extra_tensors = match_.extra;
  std::ranges::sort(facts.extra_tensors, {}, &ExtraTensor::name);
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

InstanceModel::Hashed InstanceModel::gather(ExportTime& exports) {
  Hashed hashed;
  add_registered(hashed.memory);
  add_reached(hashed.memory);
  const std::set<std::size_t> changed = redraw_all(hashed.memory, exports);
  std::map<std::uint64_t, Entry> found;
  std::map<std::uint64_t, std::string> left_out;
  for (const Rank& rank : ranks_) {
    for (std::size_t i = 0; i < rank.matched.size(); ++i) {
      const InstanceTensor& tensor = tensor_of(rank, rank.matched[i]);
      const bool covered = !rank.error && !changed.contains(rank.matched[i]);
      for (const std::uint64_t entry : match_.tensors[rank.matched[i]].entries) {
        if (covered) {
          found.emplace(entry, found_entry(std::get<TensorEntry>(artifact_.entries[entry]), tensor,
                                           rank.check->roots().at(i)));
        } else {
          const ErrorCode code = rank.error ? rank.error->code : ErrorCode::kFileChanged;
          left_out.emplace(entry, info(code).code);
        }
      }
      hashed.bytes += covered ? size_of(tensor) : 0;
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
  ExportTime exports(now_);
  for (Rank& rank : ranks_) {
    hash_rank(rank, slices, exports);
  }
  Hashed hashed = gather(exports);
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
  for (const std::uint64_t entry : entries) {
    const std::optional<Place> place = place_of(entry);
    if (!place) {
      return fail(ErrorCode::kNotFound, "This tensor was not hashed, or its memory was let go");
    }
    ASSAY_ASSIGN(std::vector<gpu_hash::ObjectDigests> digests,
                 place->rank->check->outline({&place->tensor, 1}, span));
    items.push_back({entry, std::move(digests.at(0).outline)});
  }
  return items;
}

unsigned InstanceModel::slices() {
  const std::scoped_lock lock(mutex_);
  unsigned count = 0;
  for (const Rank& rank : ranks_) {
    count += rank.check ? rank.check->slices() : 0;
  }
  return count;
}

Result<std::vector<Finding>> InstanceModel::recheck(unsigned slice) {
  const std::scoped_lock lock(mutex_);
  for (Rank& rank : ranks_) {
    if (!rank.check || rank.check->is_over()) {
      return fail(ErrorCode::kCancelled, "The memory was let go");
    }
    if (slice >= rank.check->slices()) {
      slice -= rank.check->slices();
      continue;
    }
    ASSAY_ASSIGN(const std::vector<std::size_t> tensors, rank.check->recheck(slice));
    std::vector<Finding> findings;
    for (const std::size_t tensor : tensors) {
      findings.push_back(changed(rank, tensor));
    }
    return findings;
  }
  return fail(ErrorCode::kInvalidParameter, "There is no such slice");
}

Result<std::vector<Finding>> InstanceModel::redraw(std::uint64_t count) {
  const std::scoped_lock lock(mutex_);
  std::vector<Finding> findings;
  ExportTime exports(now_);
  for (Rank& rank : ranks_) {
    if (!rank.check || rank.check->is_over()) {
      return fail(ErrorCode::kCancelled, "The memory was let go");
    }
    ASSAY_ASSIGN(const Redraw redraw, rank.check->redraw(count, &exports));
    for (const std::size_t tensor : redraw.changed) {
      findings.push_back(changed(rank, tensor));
    }
  }
  return findings;
}

}  // namespace assay::worker
