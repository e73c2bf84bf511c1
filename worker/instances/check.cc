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

// `prints` are of regions in pairs, which must be equal; adds the tensors of pairs that are not.
void add_different(const std::vector<std::vector<Digest>>& prints,
                   std::span<const std::size_t> tensors, std::vector<std::size_t>& changed) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (prints.at(2 * i) != prints.at(2 * i + 1)) {
      changed.push_back(tensors[i]);
    }
  }
}

void sort_once(std::vector<std::size_t>& numbers) {
  std::ranges::sort(numbers);
  const auto rest = std::ranges::unique(numbers);
  numbers.erase(rest.begin(), rest.end());
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
  const Steady::time_point begun = Steady::now();
  ASSAY_TRY(hash_slices());
  using std::chrono::microseconds;
  using std::chrono::round;
  times_ = {round<microseconds>(memory_->exporting()), round<microseconds>(memory_->importing()),
            round<microseconds>(Steady::now() - begun)};
  return {};
}

Status InstanceCheck::hash_slices() {
  // Slices of one reach follow one another (plan()).
  const auto begin = std::ranges::find(slices_, Reach::kResident, &Slice::reach);
  const auto end = std::ranges::find_if(
      begin, slices_.end(), [](const Slice& slice) { return slice.reach != Reach::kResident; });
  ASSAY_TRY(hash_resident({begin, end}));
  for (const Slice& slice : slices_) {
    if (slice.reach != Reach::kResident) {
      ASSAY_TRY(hash_plain({&slice, 1}));
    }
  }
  return {};
}

Status InstanceCheck::hash_resident(std::span<Slice> slices) {
  if (slices.empty() || !tags_) {
    return hash_plain(slices);
  }
  ASSAY_ASSIGN(const bool together, hash_tagged(slices));
  if (together) {
    return {};
  }
  for (Slice& slice : slices) {
    ASSAY_ASSIGN(const bool tagged, hash_tagged({&slice, 1}));
    if (!tagged) {
      ASSAY_TRY(hash_plain({&slice, 1}));
    }
  }
  return {};
}

Result<bool> InstanceCheck::hash_tagged(std::span<Slice> slices) {
  std::vector<Region> regions;
  std::vector<std::size_t> numbers;
  for (const Slice& slice : slices) {
    for (const std::size_t number : slice.tensors) {
      regions.push_back(memory_->region(tensor(number).parts));
      numbers.push_back(number);
    }
  }
  auto keyed = gpu_hash::KeyedCheck::start(engine_, std::move(regions), request(), random_);
  if (!keyed) {
    return keyed.error().code == ErrorCode::kInvalidParameter
               ? Result<bool>(false)
               : std::unexpected(std::move(keyed).error());
  }
  keyed_.push_back(std::make_unique<gpu_hash::KeyedCheck>(*std::move(keyed)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    roots_[numbers[i]] = keyed_.back()->digests().at(i).root;
  }
  std::size_t first = 0;
  for (Slice& slice : slices) {
    slice.keyed = keyed_.back().get();
    slice.first = first;
    first += slice.tensors.size();
  }
  return true;
}

Status InstanceCheck::hash_plain(std::span<const Slice> slices) {
  std::vector<std::size_t> numbers;
  for (const Slice& slice : slices) {
    numbers.insert(numbers.end(), slice.tensors.begin(), slice.tensors.end());
  }
  if (numbers.empty()) {
    return {};
  }
  ASSAY_ASSIGN(const std::vector<ObjectDigests> found, digests(slices.front().reach, numbers, 0));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    roots_[numbers[i]] = found.at(i).root;
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

Result<std::vector<std::size_t>> InstanceCheck::look_at(const Slice& slice) {
  std::vector<std::size_t> changed;
  if (slice.keyed != nullptr) {
    ASSAY_ASSIGN(const gpu_hash::KeyedCheck::Part part,
                 slice.keyed->recheck(slice.first, slice.tensors.size()));
    for (const std::size_t region : part.changed) {
      changed.push_back(slice.tensors.at(region - slice.first));
    }
    return changed;
  }
  ASSAY_ASSIGN(const std::vector<ObjectDigests> now, digests(slice.reach, slice.tensors, 0));
  for (std::size_t i = 0; i < slice.tensors.size(); ++i) {
    if (now.at(i).root != roots_[slice.tensors[i]]) {
      changed.push_back(slice.tensors[i]);
    }
  }
  return changed;
}

// Pieces of uses_, ascending: the first steps of a Fisher-Yates shuffle.
Result<std::vector<std::uint64_t>> InstanceCheck::choose(std::uint64_t count) {
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

Status InstanceCheck::draw(std::uint64_t count, ExportTime* exports) {
  drawn_count_.reset();
  drawn_.clear();
  ExportTime own;
  ASSAY_ASSIGN(const std::vector<std::uint64_t> chosen, choose(count));
  const InstanceRegistration& registration = owner_->registration();
  for (const Reach reach : {Reach::kResident, Reach::kMapped}) {
    std::vector<std::uint64_t> pieces;
    std::ranges::copy_if(chosen, std::back_inserter(pieces), [&](std::uint64_t piece) {
      return reach_of(engine_, registration.pieces.at(piece).kind) == reach;
    });
    if (pieces.empty()) {
      continue;
    }
    ASSAY_ASSIGN(InstanceMemory memory,
                 InstanceMemory::import(*owner_, engine_, pieces, stop_.get_token(),
                                        exports != nullptr ? *exports : own));
    drawn_.push_back({reach, std::move(pieces), std::move(memory)});
  }
  drawn_count_ = count;
  return {};
}

Result<Redraw> InstanceCheck::redraw(std::uint64_t count, ExportTime* exports) {
  if (drawn_count_ != count) {
    ASSAY_TRY(draw(count, exports));
  }
  drawn_count_.reset();
  const std::vector<Drawn> drawn = std::exchange(drawn_, {});
  Redraw result{0, uses_.size(), {}};
  for (const Drawn& one : drawn) {
    ASSAY_TRY(compare(one, result));
  }
  sort_once(result.changed);
  return result;
}

InstanceCheck::Row InstanceCheck::row_of(std::span<const unsigned> slices) const {
  Row row;
  for (const unsigned number : slices) {
    const Slice& slice = slices_.at(number);
    if (row.tensors.empty()) {
      row = {slice.keyed, slice.first, {}};
    }
    if (slice.keyed == nullptr || slice.keyed != row.keyed ||
        slice.first != row.first + row.tensors.size()) {
      return {};
    }
    row.tensors.insert(row.tensors.end(), slice.tensors.begin(), slice.tensors.end());
  }
  return row;
}

Result<std::optional<Looked>> InstanceCheck::look_at_once(std::span<const unsigned> slices,
                                                          std::uint64_t count) {
  const Row row = row_of(slices);
  const bool draws = count > 0;
  if (row.keyed == nullptr ||
      (draws && (drawn_.size() != 1 || drawn_.front().reach != Reach::kResident))) {
    return std::nullopt;
  }
  const Pairs pairs = draws ? pairs_of(drawn_.front()) : Pairs{};
  auto part = row.keyed->recheck(row.first, row.tensors.size(), pairs.regions);
  if (!part) {
    // A drawn piece may have bytes at places that tags cannot begin at.
    return draws && part.error().code == ErrorCode::kInvalidParameter
               ? Result<std::optional<Looked>>(std::nullopt)
               : std::unexpected(std::move(part).error());
  }
  Looked result;
  for (const std::size_t region : part->changed) {
    result.changed.push_back(row.tensors.at(region - row.first));
  }
  if (draws) {
    drawn_count_.reset();
    const std::vector<Drawn> drawn = std::exchange(drawn_, {});
    result.redraw = {drawn.front().pieces.size(), uses_.size(), {}};
    add_different(part->beside, pairs.tensors, result.redraw.changed);
    sort_once(result.redraw.changed);
  }
  sort_once(result.changed);
  return result;
}

Result<Looked> InstanceCheck::look(std::span<const unsigned> slices, std::uint64_t count,
                                   ExportTime* exports) {
  if (count > 0 && drawn_count_ != count) {
    ASSAY_TRY(draw(count, exports));
  }
  ASSAY_ASSIGN(std::optional<Looked> at_once, look_at_once(slices, count));
  if (at_once) {
    return *std::move(at_once);
  }
  Looked result;
  for (const unsigned number : slices) {
    ASSAY_ASSIGN(const std::vector<std::size_t> changed, look_at(slices_.at(number)));
    result.changed.insert(result.changed.end(), changed.begin(), changed.end());
    if (!changed.empty()) {
      sort_once(result.changed);
      return result;  // tags of more slices can no longer be compared
    }
  }
  if (count > 0) {
    ASSAY_ASSIGN(result.redraw, redraw(count, exports));
  }
  return result;
}

InstanceCheck::Pairs InstanceCheck::pairs_of(const Drawn& drawn) const {
  Pairs pairs;
  for (const std::uint64_t piece : drawn.pieces) {
    const PieceUse& use = uses_.at(piece);
    for (std::size_t i = 0; i < use.parts.size(); ++i) {
      pairs.regions.push_back(memory_->region({&use.parts[i], 1}));
      pairs.regions.push_back(drawn.memory.region({&use.parts[i], 1}));
      pairs.tensors.push_back(use.tensors[i]);
    }
  }
  return pairs;
}

Status InstanceCheck::compare(const Drawn& drawn, Redraw& result) {
  const Pairs pairs = pairs_of(drawn);
  ASSAY_ASSIGN(const auto prints,
               fingerprints(engine_, pairs.regions, request(), drawn.reach, random_));
  add_different(prints, pairs.tensors, result.changed);
  result.drawn += drawn.pieces.size();
  return {};
}

Result<std::vector<ObjectDigests>> InstanceCheck::outline(std::span<const std::size_t> tensors,
                                                          std::uint64_t span) {
  // Together what is reached in the same way: one tensor alone fills a part of a device.
  std::map<Reach, std::vector<std::size_t>> positions;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ASSAY_ASSIGN(const Reach reach,
                 reach_of(engine_, owner_->registration(), tensor(tensors[i]).parts));
    positions[reach].push_back(i);
  }
  std::vector<std::optional<ObjectDigests>> found(tensors.size());
  for (const auto& [reach, where] : positions) {
    std::vector<std::size_t> numbers;
    std::ranges::transform(where, std::back_inserter(numbers),
                           [&](std::size_t i) { return tensors[i]; });
    ASSAY_ASSIGN(std::vector<ObjectDigests> some, digests(reach, numbers, span));
    for (std::size_t i = 0; i < where.size(); ++i) {
      found[where[i]] = std::move(some.at(i));
    }
  }
  std::vector<ObjectDigests> result;
  for (std::optional<ObjectDigests>& one : found) {
    result.push_back(*std::move(one));
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
