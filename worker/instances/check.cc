// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/check.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

#include "schemas/core/merkle.h"
#include "worker/instances/match.h"
#include "worker/instances/staging.h"

namespace assay::worker {

namespace {

using gpu_hash::HashRequest;
using gpu_hash::ObjectDigests;
using gpu_hash::Region;

// A number below `bound`, each with the same chance. `bound` is not 0.
Result<std::uint64_t> below(Random& random, std::uint64_t bound) {
  const std::uint64_t usable = ~std::uint64_t{0} / bound * bound;
  while (true) {
    std::uint64_t value = 0;
    std::array<std::uint8_t, sizeof(value)> bytes{};
    ASSAY_TRY(random.fill(bytes));
    std::memcpy(&value, bytes.data(), sizeof(value));
    if (value < usable) {
      return value % bound;
    }
  }
}

// Digests that are equal when the bytes are, as lists by region.
Result<std::vector<std::vector<Digest>>> fingerprints(gpu_hash::Engine& engine,
                                                      std::span<const Region> regions,
                                                      const HashRequest& request, Reach reach,
                                                      Random& random) {
  if (reach == Reach::kResident) {
    ASSAY_ASSIGN(const gpu_hash::TagKey key, gpu_hash::TagKey::draw(random));
    auto tags = engine.tags(regions, request, key);
    if (tags || tags.error().code != ErrorCode::kInvalidParameter) {
      return tags;
    }
    // Places that tags cannot begin at.
  }
  ASSAY_ASSIGN(const std::vector<ObjectDigests> digests, engine.hash(regions, request));
  std::vector<std::vector<Digest>> result;
  for (const ObjectDigests& one : digests) {
    result.push_back({one.root});
  }
  return result;
}

}  // namespace

double detection_probability(std::uint64_t drawn, std::uint64_t pieces) {
  return pieces == 0 ? 0
                     : static_cast<double>(std::min(drawn, pieces)) / static_cast<double>(pieces);
}

Reached reached_of(const InstanceRegistration& registration, std::span<const std::size_t> tensors) {
  Reached reached;
  std::set<std::string> causes;
  for (const std::size_t position : tensors) {
    for (const InstancePart& part : registration.tensors.at(position).parts) {
      const InstancePiece& piece = registration.pieces.at(part.piece);
      const bool staged = piece.kind == PieceKind::kStaged;
      (staged ? reached.staged : reached.in_place) += part.size;
      if (staged) {
        causes.insert(piece.cause);
      }
    }
  }
  reached.staged_causes.assign(causes.begin(), causes.end());
  return reached;
}

InstanceCheck::InstanceCheck(std::shared_ptr<Owner> owner, gpu_hash::Engine& engine,
                             std::vector<std::size_t> tensors, const Options& options,
                             Random& random)
    : owner_(std::move(owner)),
      engine_(engine),
      tensors_(std::move(tensors)),
      parameters_(options.parameters),
      tags_(options.tags),
      random_(random),
      on_stop_(options.stop, Forward{stop_}),
      on_ended_(owner_->ended(), Forward{stop_}) {}

const InstanceTensor& InstanceCheck::tensor(std::size_t number) const {
  return owner_->registration().tensors.at(tensors_.at(number));
}

HashRequest InstanceCheck::request(std::uint64_t span) const {
  return {parameters_, span, {}, stop_.get_token()};
}

Result<std::unique_ptr<InstanceCheck>> InstanceCheck::start(std::shared_ptr<Owner> owner,
                                                            gpu_hash::Engine& engine,
                                                            std::vector<std::size_t> tensors,
                                                            const Options& options,
                                                            Random& random) {
  std::unique_ptr<InstanceCheck> check(
      new InstanceCheck(std::move(owner), engine, std::move(tensors), options, random));
  ASSAY_TRY(check->plan(std::max(options.slices, 1U)));
  ASSAY_TRY(check->full_pass(options.exports));
  return check;
}

// Which tensors are looked at together, and what lies in which piece.
Status InstanceCheck::plan(unsigned slices) {
  const InstanceRegistration& registration = owner_->registration();
  std::vector<std::pair<Reach, std::size_t>> order;
  std::uint64_t total = 0;
  reached_ = reached_of(registration, tensors_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    ASSAY_ASSIGN(const Reach reach, reach_of(engine_, registration, tensor(i).parts));
    order.emplace_back(reach, i);
    total += size_of(tensor(i));
    for (const InstancePart& part : tensor(i).parts) {
      if (reach != Reach::kStaged && part.size > 0) {
        PieceUse& use = uses_[part.piece];
        use.parts.push_back(part);
        use.tensors.push_back(i);
      }
    }
  }
  std::ranges::stable_sort(order, {}, [](const auto& item) { return item.first; });
  const std::uint64_t share = std::max<std::uint64_t>((total + slices - 1) / slices, 1);
  for (const auto& [reach, number] : order) {
    if (slices_.empty() || slices_.back().reach != reach || slices_.back().bytes >= share) {
      slices_.push_back({reach});
    }
    slices_.back().bytes += size_of(tensor(number));
    slices_.back().tensors.push_back(number);
  }
  return {};
}

Status InstanceCheck::full_pass(ExportTime* exports) {
  ExportTime own;
  std::vector<std::uint64_t> pieces;
  for (const auto& [piece, use] : uses_) {
    pieces.push_back(piece);
  }
  ASSAY_ASSIGN(memory_, InstanceMemory::import(*owner_, engine_, pieces, stop_.get_token(),
                                               exports != nullptr ? *exports : own));
  roots_.resize(tensors_.size(), merkle_empty(parameters_.hash));
  for (Slice& slice : slices_) {
    ASSAY_TRY(hash_slice(slice));
  }
  return {};
}

Status InstanceCheck::hash_slice(Slice& slice) {
  if (slice.reach == Reach::kResident && tags_) {
    std::vector<Region> regions;
    for (const std::size_t number : slice.tensors) {
      regions.push_back(memory_->region(tensor(number).parts));
    }
    auto keyed = gpu_hash::KeyedCheck::start(engine_, std::move(regions), request(), random_);
    if (keyed) {
      slice.keyed = *std::move(keyed);
      for (std::size_t i = 0; i < slice.tensors.size(); ++i) {
        roots_[slice.tensors[i]] = slice.keyed->digests().at(i).root;
      }
      return {};
    }
    // Tensors that begin at places where tags cannot begin are hashed without them.
    if (keyed.error().code != ErrorCode::kInvalidParameter) {
      return std::unexpected(std::move(keyed).error());
    }
  }
  ASSAY_ASSIGN(const std::vector<ObjectDigests> found, digests(slice.reach, slice.tensors, 0));
  for (std::size_t i = 0; i < slice.tensors.size(); ++i) {
    roots_[slice.tensors[i]] = found.at(i).root;
  }
  return {};
}

Result<std::vector<ObjectDigests>> InstanceCheck::digests(Reach reach,
                                                          std::span<const std::size_t> tensors,
                                                          std::uint64_t span) {
  if (reach == Reach::kStaged) {
    std::vector<const InstanceTensor*> staged;
    for (const std::size_t number : tensors) {
      staged.push_back(&tensor(number));
    }
    return hash_staged(*owner_, engine_, staged, request(span));
  }
  std::vector<Region> regions;
  for (const std::size_t number : tensors) {
    regions.push_back(memory_->region(tensor(number).parts));
  }
  return engine_.hash(regions, request(span));
}

Result<std::vector<std::size_t>> InstanceCheck::recheck(unsigned slice) {
  Slice& looked = slices_.at(slice);
  std::vector<std::size_t> changed;
  if (looked.keyed) {
    ASSAY_ASSIGN(const std::vector<std::size_t> regions, looked.keyed->recheck());
    for (const std::size_t region : regions) {
      changed.push_back(looked.tensors.at(region));
    }
    return changed;
  }
  ASSAY_ASSIGN(const std::vector<ObjectDigests> now, digests(looked.reach, looked.tensors, 0));
  for (std::size_t i = 0; i < looked.tensors.size(); ++i) {
    if (now.at(i).root != roots_[looked.tensors[i]]) {
      changed.push_back(looked.tensors[i]);
    }
  }
  return changed;
}

// Pieces of uses_, ascending: the first steps of a Fisher-Yates shuffle.
Result<std::vector<std::uint64_t>> InstanceCheck::draw(std::uint64_t count) {
  std::vector<std::uint64_t> pieces;
  for (const auto& [piece, use] : uses_) {
    pieces.push_back(piece);
  }
  count = std::min<std::uint64_t>(count, pieces.size());
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSAY_ASSIGN(const std::uint64_t step, below(random_, pieces.size() - i));
    std::swap(pieces[i], pieces[i + step]);
  }
  pieces.resize(count);
  std::ranges::sort(pieces);
  return pieces;
}

Result<Redraw> InstanceCheck::redraw(std::uint64_t count, ExportTime* exports) {
  ExportTime own;
  ASSAY_ASSIGN(const std::vector<std::uint64_t> drawn, draw(count));
  Redraw result{drawn.size(), uses_.size(), {}};
  const InstanceRegistration& registration = owner_->registration();
  for (const Reach reach : {Reach::kResident, Reach::kMapped}) {
    std::vector<std::uint64_t> pieces;
    std::ranges::copy_if(drawn, std::back_inserter(pieces), [&](std::uint64_t piece) {
      return reach_of(engine_, registration.pieces.at(piece).kind) == reach;
    });
    if (pieces.empty()) {
      continue;
    }
    ASSAY_ASSIGN(const InstanceMemory fresh,
                 InstanceMemory::import(*owner_, engine_, pieces, stop_.get_token(),
                                        exports != nullptr ? *exports : own));
    ASSAY_TRY(compare(fresh, pieces, result.changed));
  }
  std::ranges::sort(result.changed);
  const auto rest = std::ranges::unique(result.changed);
  result.changed.erase(rest.begin(), rest.end());
  return result;
}

// Of pieces that are reached in one way.
Status InstanceCheck::compare(const InstanceMemory& fresh, std::span<const std::uint64_t> pieces,
                              std::vector<std::size_t>& changed) {
  std::vector<Region> regions;  // held, fresh, held, fresh ...
  std::vector<std::size_t> tensors;
  for (const std::uint64_t piece : pieces) {
    const PieceUse& use = uses_.at(piece);
    for (std::size_t i = 0; i < use.parts.size(); ++i) {
      regions.push_back(memory_->region({&use.parts[i], 1}));
      regions.push_back(fresh.region({&use.parts[i], 1}));
      tensors.push_back(use.tensors[i]);
    }
  }
  const Reach reach = reach_of(engine_, owner_->registration().pieces.at(pieces.front()).kind);
  ASSAY_ASSIGN(const auto prints, fingerprints(engine_, regions, request(), reach, random_));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (prints.at(2 * i) != prints.at(2 * i + 1)) {
      changed.push_back(tensors[i]);
    }
  }
  return {};
}

Result<std::vector<ObjectDigests>> InstanceCheck::outline(std::span<const std::size_t> tensors,
                                                          std::uint64_t span) {
  std::vector<ObjectDigests> result;
  for (const std::size_t number : tensors) {
    ASSAY_ASSIGN(const Reach reach,
                 reach_of(engine_, owner_->registration(), tensor(number).parts));
    ASSAY_ASSIGN(std::vector<ObjectDigests> one, digests(reach, {&number, 1}, span));
    result.push_back(std::move(one.at(0)));
  }
  return result;
}

Result<std::unique_ptr<MemoryCheck>> LocalChecks::start(std::shared_ptr<Owner> owner,
                                                        std::vector<std::size_t> tensors,
                                                        const CheckOptions& options) {
  ASSAY_ASSIGN(gpu_hash::Engine* const engine, engine_for(engine_, owner->registration()));
  ASSAY_ASSIGN(
      std::unique_ptr<InstanceCheck> check,
      InstanceCheck::start(std::move(owner), *engine, std::move(tensors), options, random_));
  return check;
}

}  // namespace assay::worker
