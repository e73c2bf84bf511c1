// SPDX-License-Identifier: Apache-2.0
#include "worker/reader/reader_check.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "worker/instances/match.h"

namespace assay::worker {
namespace {

bool is_about_device(ErrorCode code) {
  return code == ErrorCode::kDeviceFailed || code == ErrorCode::kDeviceSelfTestFailed;
}

std::vector<int> numbers_of(const std::vector<Descriptor>& descriptors) {
  std::vector<int> numbers;
  numbers.reserve(descriptors.size());
  for (const Descriptor& descriptor : descriptors) {
    numbers.push_back(descriptor.get());
  }
  return numbers;
}

}  // namespace

ReaderCheck::ReaderCheck(std::shared_ptr<Reader> reader, std::shared_ptr<Owner> owner,
                         std::vector<std::size_t> tensors, const CheckOptions& options)
    : reader_(std::move(reader)),
      owner_(std::move(owner)),
      tensors_(std::move(tensors)),
      hash_(options.parameters.hash),
      reached_(reached_of(owner_->registration(), tensors_)),
      exported_(owner_->registration().pieces.size()),
      on_stop_(options.stop, Forward{stop_}),
      on_ended_(owner_->ended(), Forward{stop_}) {
  const InstanceRegistration& registration = owner_->registration();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    for (const InstancePart& part : tensor(i).parts) {
      if (part.size > 0 && registration.pieces.at(part.piece).kind != PieceKind::kStaged) {
        exported_[part.piece] = true;
      }
    }
  }
  pieces_ = static_cast<std::uint64_t>(std::ranges::count(exported_, true));
}

ReaderCheck::~ReaderCheck() {
  if (check_) {
    reader_->close(*check_, owner_);
  }
}

const InstanceTensor& ReaderCheck::tensor(std::size_t number) const {
  return owner_->registration().tensors.at(tensors_.at(number));
}

std::unexpected<Error> ReaderCheck::nonsense(const std::string& what) {
  reader_->fail(what);
  return fail(ErrorCode::kDeviceFailed, "The process that reads memory failed: " + what);
}

Result<std::unique_ptr<MemoryCheck>> ReaderCheck::start(std::shared_ptr<Reader> reader,
                                                        std::shared_ptr<Owner> owner,
                                                        std::vector<std::size_t> tensors,
                                                        const CheckOptions& options) {
  std::unique_ptr<ReaderCheck> check(
      new ReaderCheck(std::move(reader), std::move(owner), std::move(tensors), options));
  ASSAY_ASSIGN(check->check_, check->reader_->open(check->stop_.get_token()));
  ASSAY_TRY(check->full_pass(options));
  return check;
}

wire::Start ReaderCheck::start_message(const CheckOptions& options) const {
  const InstanceRegistration& registration = owner_->registration();
  wire::Start start{.check = *check_,
                    .hash = options.parameters.hash,
                    .chunk_size = options.parameters.chunk_size,
                    .slices = options.slices,
                    .tags = options.tags,
                    .pieces = {},
                    .tensors = {}};
  for (const InstancePiece& piece : registration.pieces) {
    start.pieces.push_back({piece.size, piece.kind});
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    std::vector<wire::Part>& parts = start.tensors.emplace_back();
    for (const InstancePart& part : tensor(i).parts) {
      parts.push_back({part.piece, part.offset, part.size});
    }
  }
  return start;
}

Status ReaderCheck::full_pass(const CheckOptions& options) {
  ExportTime own;
  std::vector<int> window;
  if (owner_->window() >= 0) {
    window.push_back(owner_->window());
  }
  ASSAY_ASSIGN(
      wire::Started started,
      ask<wire::Started>(
          start_message(options),
          {pieces_, reached_.staged, options.exports != nullptr ? options.exports : &own}, window));
  const bool right_roots = started.roots.size() == tensors_.size() &&
                           std::ranges::all_of(started.roots, [this](const Digest& root) {
                             return root.algorithm() == hash_;
                           });
  // A sum that runs over would not be the right one by chance: each is at most the total.
  const std::uint64_t total = reached_.in_place + reached_.staged;
  const bool right_slices =
      started.slices.size() <= tensors_.size() &&
      std::ranges::all_of(started.slices, [&](std::uint64_t size) { return size <= total; }) &&
      std::accumulate(started.slices.begin(), started.slices.end(), std::uint64_t{0}) == total;
  if (!right_roots || !right_slices) {
    return nonsense("its answer to a full pass does not fit the question");
  }
  roots_ = std::move(started.roots);
  slices_ = std::move(started.slices);
  // For people only: a wrong number decides nothing, but must not run over.
  const auto time = [](std::uint64_t count) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // 12 days
    return std::chrono::microseconds(static_cast<std::int64_t>(std::min(count, kMost)));
  };
  times_ = {time(started.exports), time(started.imports), time(started.hashing)};
  return {};
}

template <typename Answer>
Result<Answer> ReaderCheck::ask(const wire::ToReader& question, Allowance allowance,
                                std::span<const int> descriptors) {
  if (is_over()) {
    return fail(ErrorCode::kCancelled, "the work was stopped on request");
  }
  ASSAY_TRY(reader_->send(*check_, question, descriptors));
  ASSAY_ASSIGN(wire::FromReader message, answer(allowance));
  if (const auto* const failed = std::get_if<wire::Failed>(&message)) {
    const std::optional<Error> error = wire::error_of(failed->problem);
    if (!error) {
      return nonsense("it failed without an error");
    }
    // Its context of the device is dead, and so is all that it holds there.
    if (is_about_device(error->code)) {
      reader_->fail(error->detail);
    }
    return std::unexpected(*error);
  }
  if (Answer* const right = std::get_if<Answer>(&message)) {
    return std::move(*right);
  }
  return nonsense("it answers another question");
}

// The first message that is no request to the owner.
Result<wire::FromReader> ReaderCheck::answer(Allowance& allowance) {
  while (true) {
    ASSAY_ASSIGN(wire::FromReader message, reader_->next(*check_, stop_.get_token()));
    if (const auto* const wanted = std::get_if<wire::Export>(&message)) {
      ASSAY_TRY(serve(*wanted, allowance));
    } else if (const auto* const bytes = std::get_if<wire::Stage>(&message)) {
      ASSAY_TRY(serve(*bytes, allowance));
    } else {
      return message;
    }
  }
}

Status ReaderCheck::serve(const wire::Export& wanted, Allowance& allowance) {
  const bool allowed = std::ranges::all_of(wanted.pieces, [this](std::uint64_t piece) {
    return piece < exported_.size() && exported_[piece];
  });
  const bool ascending = std::ranges::adjacent_find(wanted.pieces, std::ranges::greater_equal()) ==
                         wanted.pieces.end();
  if (!allowed || !ascending || wanted.pieces.empty() ||
      wanted.pieces.size() > std::min<std::uint64_t>(kMaxFrameDescriptors, allowance.pieces)) {
    return nonsense("it asks for pieces that it does not need");
  }
  allowance.pieces -= wanted.pieces.size();
  const Result<std::vector<Descriptor>> exported = allowance.exports->take(*owner_, wanted.pieces);
  const Status status = exported ? Status() : std::unexpected(exported.error());
  return reader_->send(*check_, wire::Exported{*check_, wire::problem_of(status)},
                       exported ? numbers_of(*exported) : std::vector<int>());
}

Status ReaderCheck::serve(const wire::Stage& wanted, Allowance& allowance) {
  const std::vector<InstancePiece>& pieces = owner_->registration().pieces;
  const bool exists = wanted.piece < pieces.size() &&
                      pieces[wanted.piece].kind == PieceKind::kStaged &&
                      wanted.offset <= pieces[wanted.piece].size &&
                      wanted.size <= pieces[wanted.piece].size - wanted.offset;
  if (!exists || wanted.size > std::min(kStagingWindow, allowance.staged)) {
    return nonsense("it asks for bytes that it does not need");
  }
  allowance.staged -= wanted.size;
  Status lost;
  const Status status = owner_->stage(wanted.piece, wanted.offset, wanted.size, [&]() -> Status {
    lost = reader_->send(*check_, wire::Staged{*check_, {}});
    if (!lost) {
      return lost;
    }
    const auto taken = reader_->next(*check_, stop_.get_token());
    if (!taken) {
      lost = std::unexpected(taken.error());
    } else if (!std::holds_alternative<wire::Taken>(*taken)) {
      lost = nonsense("it does not take the bytes that it asked for");
    }
    return lost;
  });
  ASSAY_TRY(lost);
  return status ? Status()
                : reader_->send(*check_, wire::Staged{*check_, wire::problem_of(status)});
}

// Numbers of tensors, ascending.
Result<std::vector<std::size_t>> ReaderCheck::numbers(const wire::Numbers& tensors) {
  const bool ascending =
      std::ranges::adjacent_find(tensors, std::ranges::greater_equal()) == tensors.end();
  if (!ascending || (!tensors.empty() && tensors.back() >= tensors_.size())) {
    return nonsense("it names tensors that there are not");
  }
  return std::vector<std::size_t>(tensors.begin(), tensors.end());
}

Result<Looked> ReaderCheck::look(std::span<const unsigned> slices, std::uint64_t count,
                                 ExportTime* exports) {
  ExportTime own;
  ASSAY_ASSIGN(const wire::Looked looked,
               ask<wire::Looked>(wire::Look{*check_, {slices.begin(), slices.end()}, count},
                                 {std::min(count, pieces_), reached_.staged,
                                  exports != nullptr ? exports : &own}));
  Looked result;
  ASSAY_ASSIGN(result.changed, numbers(looked.changed));
  // Without a change in the slices, the pieces must have been compared.
  if (count > 0 && (result.changed.empty() || looked.pieces != 0)) {
    ASSAY_ASSIGN(result.redraw, redraw_of(count, looked.drawn, looked.pieces, looked.replaced));
  }
  return result;
}

Status ReaderCheck::draw(std::uint64_t count, ExportTime* exports) {
  ExportTime own;
  ASSAY_TRY(ask<wire::Fetched>(wire::Fetch{*check_, count},
                               {std::min(count, pieces_), 0, exports != nullptr ? exports : &own}));
  return {};
}

Result<Redraw> ReaderCheck::redraw(std::uint64_t count, ExportTime* exports) {
  ExportTime own;
  ASSAY_ASSIGN(const wire::Drawn drawn,
               ask<wire::Drawn>(wire::Draw{*check_, count}, {std::min(count, pieces_), 0,
                                                             exports != nullptr ? exports : &own}));
  return redraw_of(count, drawn.drawn, drawn.pieces, drawn.changed);
}

Result<Redraw> ReaderCheck::redraw_of(std::uint64_t count, std::uint64_t drawn,
                                      std::uint64_t pieces, const wire::Numbers& changed) {
  if (drawn != std::min(count, pieces_) || pieces != pieces_) {
    return nonsense("it drew another number of pieces");
  }
  ASSAY_ASSIGN(std::vector<std::size_t> tensors, numbers(changed));
  return Redraw{drawn, pieces, std::move(tensors)};
}

Result<std::vector<gpu_hash::ObjectDigests>> ReaderCheck::outline(
    std::span<const std::size_t> tensors, std::uint64_t span) {
  std::uint64_t staged = 0;
  for (const std::size_t number : tensors) {
    staged += reached_of(owner_->registration(), {&tensors_.at(number), 1}).staged;
  }
  ASSAY_ASSIGN(wire::Outlined outlined,
               ask<wire::Outlined>(wire::Outline{*check_, span, {tensors.begin(), tensors.end()}},
                                   {0, staged, nullptr}));
  std::vector<gpu_hash::ObjectDigests> result;
  for (std::size_t i = 0; i < outlined.tensors.size() && i < tensors.size(); ++i) {
    wire::Digests& found = outlined.tensors[i];
    const std::uint64_t size = size_of(tensor(tensors[i]));
    const std::uint64_t expected = span == 0 ? 0 : size / span + (size % span == 0 ? 0 : 1);
    const bool right =
        found.size() == 1 + expected && std::ranges::all_of(found, [this](const Digest& digest) {
          return digest.algorithm() == hash_;
        });
    if (!right) {
      return nonsense("its outline does not fit the tensor");
    }
    const Digest root = found.front();
    found.erase(found.begin());
    result.push_back({root, std::move(found)});
  }
  if (result.size() != tensors.size() || outlined.tensors.size() != tensors.size()) {
    return nonsense("its outline is of other tensors");
  }
  return result;
}

}  // namespace assay::worker
