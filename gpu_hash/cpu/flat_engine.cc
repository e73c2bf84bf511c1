// SPDX-License-Identifier: Apache-2.0
// Trees and flat digests in one pass: a thread reads a file from its beginning to its end, and
// gives each block to both.
#include <algorithm>
#include <array>
#include <optional>

#include "gpu_hash/cpu/engine.h"
#include "gpu_hash/cpu/largest_first.h"
#include "gpu_hash/cpu/leaves.h"
#include "gpu_hash/cpu/read_ahead.h"
#include "gpu_hash/flat_hash.h"
#include "gpu_hash/tree/fold.h"
#include "gpu_hash/workers.h"

namespace assay::gpu_hash {
namespace {

// The regions of one file, in the order of its bytes.
struct WholeFile {
  std::shared_ptr<const SourceFile> file;
  std::size_t first;  // its regions are [first, end)
  std::size_t end;
};

std::unexpected<Error> no_whole_file(const std::string& label) {
  return fail(ErrorCode::kInvalidParameter,
              "flat digests need the segments of whole files in their order", label);
}

const FilePiece* only_piece(const Region& region) {
  return region.pieces.size() == 1 ? std::get_if<FilePiece>(&region.pieces.front()) : nullptr;
}

Result<std::vector<WholeFile>> whole_files(std::span<const Region> regions) {
  std::vector<WholeFile> files;
  std::uint64_t at = 0;
  const auto is_whole = [&] { return files.empty() || at == files.back().file->size(); };
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const FilePiece* piece = only_piece(regions[i]);
    if (piece == nullptr) {
      return no_whole_file({});
    }
    if (files.empty() || files.back().file != piece->file) {
      if (!is_whole()) {
        return no_whole_file(files.back().file->label());
      }
      files.push_back({piece->file, i, i});
      at = 0;
    }
    // A tensor without bytes may stand anywhere.
    if (piece->size > 0 && piece->offset != at) {
      return no_whole_file(piece->file->label());
    }
    at += piece->size;
    files.back().end = i + 1;
  }
  return is_whole() ? Result<std::vector<WholeFile>>(std::move(files))
                    : no_whole_file(files.back().file->label());
}

// Cuts the bytes of a file into shards.
class ShardedStream {
 public:
  ShardedStream(FlatHash hash, std::uint64_t shard_size) : stream_(hash), shard_size_(shard_size) {}

  void update(ByteView bytes) {
    while (!bytes.empty()) {
      const std::uint64_t room = shard_size_ == 0 ? bytes.size() : shard_size_ - taken_;
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()));
      stream_.update(bytes.first(size));
      bytes = bytes.subspan(size);
      taken_ += size;
      if (taken_ == shard_size_) {
        close();
      }
    }
  }
  // Returns the digests of the file.
  [[nodiscard]] std::vector<Bytes> finish() {
    if (shard_size_ == 0 || taken_ > 0) {
      close();
    }
    return std::move(digests_);
  }

 private:
  void close() {
    digests_.push_back(stream_.finish());
    taken_ = 0;
  }

  FlatStream stream_;
  std::uint64_t shard_size_;  // bytes; 0: the file is one
  std::uint64_t taken_ = 0;   // bytes of the present shard
  std::vector<Bytes> digests_;
};

// Hashes one region from blocks of host memory.
class RegionHash {
 public:
  RegionHash(CpuLeaves& leaves, const HashRequest& request, std::uint64_t step)
      : leaves_(leaves),
        request_(request),
        grain_(request.outline_span == 0 ? step : std::min(request.outline_span, step)),
        fold_(request.parameters.hash, grain_, request.outline_span) {}

  // `bytes` are a multiple of the step long, but at the end of the region.
  Status add(ByteView bytes) {
    const Region region = host_region(bytes);
    const LeafRun run{&region, 0, bytes.size()};
    ASSAY_ASSIGN(const auto digests,
                 leaves_.hash({&run, 1}, request_.parameters.chunk_size, grain_));
    for (const Digest& digest : digests.front()) {
      fold_.append(digest);
    }
    return {};
  }
  [[nodiscard]] ObjectDigests finish() { return fold_.finish(); }

 private:
  CpuLeaves& leaves_;
  const HashRequest& request_;
  std::uint64_t grain_;  // bytes of one digest
  ObjectFold fold_;
};

// Hands out the bytes of a file in pieces that do not cross a border of its regions.
class FileBytes {
 public:
  FileBytes(const SourceFile& file, ShardedStream& flat, BlockMemory& memory)
      : reader_(file, 0, file.size(), memory), flat_(flat) {}

  // Returns the next `size` bytes, or fewer when `scratch`, whose size is at least `size`, is not
  // needed to bring them together. The view is valid until the next call.
  Result<ByteView> next(std::size_t size, Bytes& scratch) {
    if (block_.empty()) {
      ASSAY_TRY(refill());
    }
    if (block_.size() >= size) {
      const ByteView piece = block_.first(size);
      block_ = block_.subspan(size);
      return piece;
    }
    std::size_t filled = 0;
    while (filled < size) {
      if (block_.empty()) {
        ASSAY_TRY(refill());
      }
      const std::size_t part = std::min(block_.size(), size - filled);
      std::copy_n(block_.begin(), part, scratch.begin() + static_cast<std::ptrdiff_t>(filled));
      block_ = block_.subspan(part);
      filled += part;
    }
    return ByteView(scratch).first(size);
  }

 private:
  Status refill() {
    ASSAY_ASSIGN(block_, reader_.next());
    if (block_.empty()) {
      return fail(ErrorCode::kInternal, "a file ended before its segments");
    }
    flat_.update(block_);
    return {};
  }

  BlockReader reader_;
  ShardedStream& flat_;
  ByteView block_;  // what is left of the last block
};

std::vector<std::uint64_t> sizes_of(std::span<const WholeFile> files) {
  std::vector<std::uint64_t> sizes;
  for (const WholeFile& whole : files) {
    sizes.push_back(whole.file->size());
  }
  return sizes;
}

// One hash() call, shared by its threads.
class TeeJob {
 public:
  TeeJob(std::span<const Region> regions, std::span<const WholeFile> files,
         const HashRequest& request, FlatResults how)
      : regions_(regions),
        files_(files),
        request_(request),
        flat_(std::move(how)),
        digests_(regions.size(), ObjectDigests{merkle_empty(request.parameters.hash), {}}),
        left_(sizes_of(files), request.progress, request.stop) {
    flat_.files.resize(files.size());
  }

  void work() {
    const HashAlgorithm algorithm = request_.parameters.hash;
    std::unique_ptr<LeafHasher> hasher = make_leaf_hasher(best_leaf_variant(algorithm), algorithm);
    if (hasher == nullptr) {
      hasher = make_leaf_hasher(LeafVariant::kOpenSsl, algorithm);
    }
    CpuLeaves leaves(std::move(hasher), algorithm, nullptr);
    Buffers buffers{{}, Bytes(step())};
    while (const std::optional<std::size_t> index = left_.take()) {
      if (Status status = hash(*index, leaves, buffers); !status) {
        left_.fail_with(std::move(status).error());
        return;
      }
    }
  }

  [[nodiscard]] Result<std::vector<ObjectDigests>> take(FlatResults& results) {
    ASSAY_TRY(left_.outcome());
    results = std::move(flat_);
    return std::move(digests_);
  }

 private:
  // Memory of one thread.
  struct Buffers {
    BlockMemory blocks;
    Bytes scratch;
  };

  // Bytes that are hashed at a time: chunks for every lane of the widest hasher, and no border of a
  // block inside.
  [[nodiscard]] std::size_t step() const {
    return std::max<std::size_t>(BlockReader::kBlock, request_.parameters.chunk_size);
  }

  Status hash(std::size_t index, CpuLeaves& leaves, Buffers& buffers) {
    const WholeFile& whole = files_[index];
    ShardedStream flat(flat_.hash, flat_.shard_size);
    FileBytes bytes(*whole.file, flat, buffers.blocks);
    for (std::size_t i = whole.first; i < whole.end; ++i) {
      const std::uint64_t size = piece_size(regions_[i].pieces.front());
      if (size == 0) {
        continue;
      }
      RegionHash region(leaves, request_, step());
      for (std::uint64_t at = 0; at < size;) {
        const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(step(), size - at));
        ASSAY_ASSIGN(const ByteView piece, bytes.next(length, buffers.scratch));
        ASSAY_TRY(region.add(piece));
        at += length;
        ASSAY_TRY(left_.count(length));
      }
      digests_[i] = region.finish();
    }
    flat_.files[index] = {whole.file->label(), whole.file->size(), flat.finish()};
    return {};
  }

  std::span<const Region> regions_;
  std::span<const WholeFile> files_;
  const HashRequest& request_;
  FlatResults flat_;
  std::vector<ObjectDigests> digests_;
  LargestFirst left_;  // indexes of files
};

class FlatEngine final : public Engine {
 public:
  FlatEngine(unsigned threads, FlatResults& results)
      : threads_(threads == 0 ? usable_cores() : threads),
        results_(results),
        info_{"cpu", cpu_name(), cpu_driver(), std::nullopt} {}

  [[nodiscard]] const EngineInfo& info() const override { return info_; }

  [[nodiscard]] Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                        const HashRequest& request) override {
    ASSAY_TRY(check(request));
    ASSAY_TRY(region_sizes(regions));
    ASSAY_ASSIGN(const std::vector<WholeFile> files, whole_files(regions));
    TeeJob job(regions, files, request, {results_.hash, results_.shard_size, {}});
    const auto threads = static_cast<unsigned>(std::clamp<std::size_t>(files.size(), 1, threads_));
    run_on_threads(threads, [&job] { job.work(); });
    return job.take(results_);
  }

 private:
  unsigned threads_;
  FlatResults& results_;
  EngineInfo info_;
};

}  // namespace

std::unique_ptr<Engine> make_flat_engine(unsigned threads, FlatResults& results) {
  return std::make_unique<FlatEngine>(threads, results);
}

}  // namespace assay::gpu_hash
