// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/memory.h"

#include <algorithm>
#include <fcntl.h>
#include <linux/magic.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <utility>

#include "schemas/posix/descriptor_limit.h"

namespace assay::worker {

namespace {

std::unexpected<Error> refused(const std::string& why) {
  return fail(ErrorCode::kInvalidParameter, why);
}

std::unexpected<Error> too_slow() {
  return fail(ErrorCode::kFileUnreadable, "the owner takes too long to export its memory");
}

// Names of the seals that a memory file must have and `seals` has not, each after a space.
std::string missing_seals(int seals) {
  constexpr std::pair<int, const char*> kWanted[] = {
      {F_SEAL_SHRINK, " F_SEAL_SHRINK"},
      {F_SEAL_GROW, " F_SEAL_GROW"},
      {F_SEAL_FUTURE_WRITE, " F_SEAL_FUTURE_WRITE"},  // without it, its owner may punch holes
  };
  std::string missing;
  for (const auto& [seal, name] : kWanted) {
    missing += (seals & seal) == 0 ? name : "";
  }
  return missing;
}

// Drivers keep the descriptor of an import until they release the memory.
Status check_descriptors(const InstanceRegistration& registration,
                         std::span<const std::uint64_t> wanted) {
  constexpr std::uint64_t kOthers = kMaxFrameDescriptors + 64;
  const auto kept = std::ranges::count_if(wanted, [&](std::uint64_t piece) {
    return registration.pieces[piece].kind == PieceKind::kDevice;
  });
  const std::uint64_t needed = static_cast<std::uint64_t>(kept) + kOthers;
  return descriptor_limit() >= needed
             ? Status()
             : fail(ErrorCode::kLimitExceeded, "the node agent may open " +
                                                   std::to_string(descriptor_limit()) +
                                                   " files and needs " + std::to_string(needed) +
                                                   ": raise its limit (LimitNOFILE, ulimit -n)");
}

}  // namespace

Status check_memory_file(const Descriptor& fd, std::uint64_t size) {
  struct stat status{};
  struct statfs system{};
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);  // first: the calls after it wait for no owner
  if (seals < 0 || ::fstat(fd.get(), &status) != 0 || ::fstatfs(fd.get(), &system) != 0 ||
      !S_ISREG(status.st_mode) || system.f_type != TMPFS_MAGIC) {
    return refused("a piece of host memory is not a memory file");
  }
  if (const std::string missing = missing_seals(seals); !missing.empty()) {
    return refused("a memory file lacks the seals" + missing +
                   ": add them with fcntl(F_ADD_SEALS) after it is mapped writable");
  }
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (size == 0 || size != bytes) {
    return refused("a memory file has another size than was said");
  }
  return {};
}

// The number of its blocks does not tell: blocks may lie behind the end of the file.
Status check_holes(const Descriptor& fd, std::uint64_t size) {
  const off_t hole = ::lseek(fd.get(), 0, SEEK_HOLE);
  return std::cmp_greater_equal(hole, size) ? Status() : refused("a memory file has holes");
}

Result<std::shared_ptr<const HostMapping>> HostMapping::map(const Descriptor& fd,
                                                            std::uint64_t size) {
  ASSAY_TRY(check_memory_file(fd, size));
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorCode::kLimitExceeded, "the system maps no more memory files");
  }
  return std::shared_ptr<const HostMapping>(
      new HostMapping({static_cast<const std::uint8_t*>(memory), size}));
}

HostMapping::~HostMapping() { ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size()); }

Result<gpu_hash::Engine*> engine_for(gpu_hash::Engine& engine,
                                     const InstanceRegistration& registration) {
  if (registration.device.empty()) {
    return &engine;
  }
  gpu_hash::Engine* const found = engine.of_device(registration.device);
  if (found == nullptr) {
    return fail(ErrorCode::kDeviceNotFound,
                "The memory lies on a device that this agent does not use", registration.device);
  }
  return found;
}

Reach reach_of(const gpu_hash::Engine& engine, PieceKind kind) {
  switch (kind) {
    case PieceKind::kDevice:
      return Reach::kResident;
    case PieceKind::kHost:
      return engine.imports() == gpu_hash::Imports::kMemoryFiles ? Reach::kResident
                                                                 : Reach::kMapped;
    case PieceKind::kStaged:
      break;
  }
  return Reach::kStaged;
}

Result<Reach> reach_of(const gpu_hash::Engine& engine, const InstanceRegistration& registration,
                       std::span<const InstancePart> parts) {
  Reach reach = Reach::kMapped;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Reach one = reach_of(engine, registration.pieces.at(parts[i].piece).kind);
    if (i > 0 && one != reach) {
      return refused("a tensor lies in memory of several kinds");
    }
    reach = one;
  }
  return reach;
}

Result<InstanceMemory::Piece> InstanceMemory::take(gpu_hash::Engine& engine, Descriptor fd,
                                                   const InstancePiece& piece) {
  using gpu_hash::Imports;
  if (!fd) {
    return refused("a descriptor is missing");
  }
  if (reach_of(engine, piece.kind) == Reach::kMapped) {
    ASSAY_ASSIGN(Piece mapped, HostMapping::map(fd, piece.size));
    return mapped;
  }
  if (piece.kind == PieceKind::kDevice && engine.imports() != Imports::kDriverDescriptors) {
    return refused("the engine imports no memory of devices");
  }
  if (piece.kind == PieceKind::kHost) {
    ASSAY_TRY(check_memory_file(fd, piece.size));
  }
  auto imported = engine.import_memory(std::move(fd), piece.size);
  if (!imported) {
    // A driver that refuses says nothing about its device.
    return refused(imported.error().detail);
  }
  return Piece(*std::move(imported));
}

Result<std::vector<Descriptor>> ExportTime::take(Owner& owner,
                                                 std::span<const std::uint64_t> pieces) {
  if (left_ < Steady::duration::zero()) {
    return too_slow();
  }
  const Steady::time_point begun = now_();
  auto exported = owner.export_pieces(pieces);
  left_ += kOfABatch - (now_() - begun);
  if (exported && left_ < Steady::duration::zero()) {
    return too_slow();
  }
  return exported;
}

Result<InstanceMemory> InstanceMemory::import(Owner& owner, gpu_hash::Engine& engine,
                                              std::span<const std::uint64_t> pieces,
                                              const std::stop_token& stop, ExportTime& exports) {
  const InstanceRegistration& registration = owner.registration();
  std::vector<std::uint64_t> wanted;
  for (const std::uint64_t piece : pieces) {
    if (registration.pieces.at(piece).kind != PieceKind::kStaged) {
      wanted.push_back(piece);
    }
  }
  ASSAY_TRY(check_descriptors(registration, wanted));
  InstanceMemory memory;
  for (std::size_t at = 0; at < wanted.size(); at += kMaxFrameDescriptors) {
    if (stop.stop_requested()) {
      return fail(ErrorCode::kCancelled, "importing was stopped on request");
    }
    const auto batch =
        std::span(wanted).subspan(at, std::min(kMaxFrameDescriptors, wanted.size() - at));
    const Steady::time_point asked = Steady::now();
    ASSAY_ASSIGN(std::vector<Descriptor> fds, exports.take(owner, batch));
    const Steady::time_point exported = Steady::now();
    memory.exporting_ += exported - asked;
    if (fds.size() != batch.size()) {
      return fail(ErrorCode::kFileUnreadable, "the owner sent another number of descriptors");
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      auto piece = take(engine, std::move(fds[i]), registration.pieces[batch[i]]);
      if (!piece) {
        piece.error().where = "piece " + std::to_string(batch[i]);
        return std::unexpected(std::move(piece).error());
      }
      memory.pieces_.emplace(batch[i], *std::move(piece));
    }
    memory.importing_ += Steady::now() - exported;
  }
  return memory;
}

gpu_hash::Region InstanceMemory::region(std::span<const InstancePart> parts) const {
  gpu_hash::Region region;
  region.pieces.reserve(parts.size());
  for (const InstancePart& part : parts) {
    const Piece& piece = pieces_.at(part.piece);
    if (const auto* device = std::get_if<std::shared_ptr<const gpu_hash::DeviceMemory>>(&piece)) {
      region.pieces.emplace_back(gpu_hash::DevicePiece{*device, part.offset, part.size});
    } else {
      const ByteView bytes = std::get<std::shared_ptr<const HostMapping>>(piece)->bytes();
      region.pieces.emplace_back(gpu_hash::HostPiece{bytes.subspan(part.offset, part.size)});
    }
  }
  return region;
}

}  // namespace assay::worker
