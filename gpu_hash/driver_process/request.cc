// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/driver_process/request.h"

#include <algorithm>
#include <charconv>

#include "schemas/posix/memory_file.h"

namespace assay::gpu_hash {
namespace {

constexpr std::uint64_t kMaxMemory = std::uint64_t{256} << 20;  // bytes of host memory in a call

}  // namespace

Status RequestSender::collect() {
  for (const Region& region : regions_) {
    for (const Piece& piece : region.pieces) {
      if (std::holds_alternative<DevicePiece>(piece)) {
        return fail(ErrorCode::kInvalidParameter,
                    "memory of devices is hashed by the process that imported it");
      }
      if (const auto* const file = std::get_if<FilePiece>(&piece)) {
        const auto number = static_cast<std::uint32_t>(files_.size());
        if (numbers_.try_emplace(file->file.get(), number).second) {
          files_.push_back(file->file.get());
        }
        continue;
      }
      const ByteView bytes = std::get<HostPiece>(piece).bytes;
      if (places_.try_emplace({bytes.data(), bytes.size()}, memory_bytes_).second) {
        memory_.push_back(bytes);
        memory_bytes_ += bytes.size();
      }
      if (memory_bytes_ > kMaxMemory) {
        return fail(ErrorCode::kLimitExceeded,
                    "at most 256 MiB of host memory are handed to the process of a driver");
      }
    }
  }
  return {};
}

Result<std::uint32_t> RequestSender::folder_of(const SourceFile& file) {
  const auto [place, is_new] =
      folders_.try_emplace(file.base().get(), static_cast<std::uint32_t>(folders_.size()));
  if (is_new) {
    const int descriptor = file.base()->fd();
    ASSAY_TRY(process_.send(driver::Folder{}, std::span(&descriptor, 1)));
  }
  return place->second;
}

Status RequestSender::send_files() {
  driver::Files message;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const SourceFile& file = *files_[i];
    if (file.path().size() > messages::kMaxText) {
      return fail(ErrorCode::kFileUnreadable, "the path is too long", file.label());
    }
    ASSAY_ASSIGN(const std::uint32_t folder, folder_of(file));
    const ByteView path = as_bytes(file.path());
    const FileIdentity& seen = file.identity();
    message.files.push_back({folder, Bytes(path.begin(), path.end()), seen.device, seen.inode,
                             seen.size, seen.mtime_ns, seen.ctime_ns, file.is_read_once()});
    if (message.files.size() == driver::kMaxFiles || i + 1 == files_.size()) {
      ASSAY_TRY(process_.send(message));
      message.files.clear();
    }
  }
  return {};
}

Status RequestSender::send_memory() {
  if (memory_bytes_ == 0) {
    return {};
  }
  ASSAY_ASSIGN(const Descriptor file, sealed_memory("assay-regions", memory_, Executable::kNo));
  const int descriptor = file.get();
  return process_.send(driver::Memory{memory_bytes_}, std::span(&descriptor, 1));
}

driver::Piece RequestSender::wire_piece(const Piece& piece) const {
  using driver::PieceSource;
  if (const auto* const file = std::get_if<FilePiece>(&piece)) {
    return {PieceSource::kFile, numbers_.at(file->file.get()), file->offset, file->size, false};
  }
  const ByteView bytes = std::get<HostPiece>(piece).bytes;
  return {PieceSource::kMemory, 0, places_.at({bytes.data(), bytes.size()}), bytes.size(), false};
}

Status RequestSender::send_pieces() {
  driver::Pieces message;
  const auto add = [&](const driver::Piece& piece) -> Status {
    message.pieces.push_back(piece);
    if (message.pieces.size() < driver::kMaxPieces) {
      return {};
    }
    ASSAY_TRY(process_.send(message));
    message.pieces.clear();
    return {};
  };
  for (const Region& region : regions_) {
    for (std::size_t i = 0; i < region.pieces.size(); ++i) {
      driver::Piece piece = wire_piece(region.pieces[i]);
      piece.ends = i + 1 == region.pieces.size();
      ASSAY_TRY(add(piece));
    }
    if (region.pieces.empty()) {
      ASSAY_TRY(add({.ends = true}));
    }
  }
  return message.pieces.empty() ? Status{} : process_.send(message);
}

Status RequestSender::send_derivation(const DeriveRequest& derivation) {
  driver::Moves message;
  for (const DeriveRound& round : derivation.rounds) {
    driver::Round own{{}, round.results, round.filled};
    for (const DeriveLoad& load : round.loads) {
      own.loads.push_back({load.sources.size(), load.moves.size()});
      for (const Move& move : load.moves) {
        message.moves.push_back(move);
        if (message.moves.size() == driver::kMaxMoves) {
          ASSAY_TRY(process_.send(message));
          message.moves.clear();
        }
      }
    }
    if (own.loads.size() > driver::kMaxLoads || own.results.size() > driver::kMaxLoads) {
      return fail(ErrorCode::kLimitExceeded, "a round has too many loads or results");
    }
    ASSAY_TRY(process_.send(own));
  }
  return process_.send(message);
}

Status RequestSender::send(const HashRequest& request, const DeriveRequest* derivation) {
  ASSAY_TRY(collect());
  ASSAY_TRY(process_.send(
      driver::Call{request.parameters.hash, request.parameters.chunk_size, request.outline_span}));
  ASSAY_TRY(send_files());
  ASSAY_TRY(send_memory());
  ASSAY_TRY(send_pieces());
  if (derivation != nullptr) {
    ASSAY_TRY(send_derivation(*derivation));
  }
  return process_.send(driver::Go{});
}

bool RequestSender::note(const Bytes& protections) const {
  const auto is_known = [](std::uint8_t one) {
    return one < kProtections || one == driver::kNotOpened;
  };
  if (protections.size() != files_.size() || !std::ranges::all_of(protections, is_known)) {
    return false;
  }
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (protections[i] != driver::kNotOpened) {
      files_[i]->note(Protection{protections[i]});
    }
  }
  return true;
}

Error RequestSender::with_label(Error error) const {
  std::size_t number = files_.size();
  const char* const end = error.where.data() + error.where.size();
  const auto [last, problem] = std::from_chars(error.where.data(), end, number);
  if (problem == std::errc() && last == end && number < files_.size()) {
    error.where = files_[number]->label();
  }
  return error;
}

AnswerReader::AnswerReader(std::vector<std::uint64_t> sizes, const HashRequest& request)
    : sizes_(std::move(sizes)), hash_(request.parameters.hash), span_(request.outline_span) {
  for (const std::uint64_t size : sizes_) {
    bytes_ += size;
  }
  result_.reserve(sizes_.size());
}

bool AnswerReader::add(const std::vector<Digest>& digests) {
  for (const Digest& digest : digests) {
    if (is_complete() || digest.algorithm() != hash_) {
      return false;
    }
    if (left_ > 0) {
      result_.back().outline.push_back(digest);
      --left_;
      continue;
    }
    const std::uint64_t size = sizes_[result_.size()];
    result_.push_back({digest, {}});
    left_ = span_ == 0 ? 0 : (size + span_ - 1) / span_;
    result_.back().outline.reserve(left_);
  }
  return true;
}

}  // namespace assay::gpu_hash
