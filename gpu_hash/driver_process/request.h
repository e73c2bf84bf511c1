// SPDX-License-Identifier: Apache-2.0
// One call of Engine::hash() as messages to the process that computes it, and its answer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpu_hash/driver_process/process.h"
#include "gpu_hash/driver_process/wire.h"
#include "gpu_hash/engine.h"
#include "gpu_hash/source_file.h"

namespace assay::gpu_hash {

// Sends the regions of a call. Borrows them.
class RequestSender {
 public:
  RequestSender(DriverProcess& process, std::span<const Region> regions)
      : process_(process), regions_(regions) {}

  // Sends all messages from Call to Go; with `derivation`, whose sources the regions are, a call of
  // derive(). Errors: invalid-parameter for device memory;
  // limit-exceeded; file-unreadable; those of DriverProcess::send().
  [[nodiscard]] Status send(const HashRequest& request, const DeriveRequest* derivation = nullptr);
  // Tells the files what kept writers away while the process read them, as Done says. Returns false
  // when that is not one known value for each file.
  [[nodiscard]] bool note(const Bytes& protections) const;
  // Returns `error` with the label of the file that it is about.
  [[nodiscard]] Error with_label(Error error) const;

 private:
  [[nodiscard]] Status collect();
  [[nodiscard]] Status send_files();
  [[nodiscard]] Status send_memory();
  [[nodiscard]] Status send_pieces();
  [[nodiscard]] Status send_derivation(const DeriveRequest& derivation);
  [[nodiscard]] driver::Piece wire_piece(const Piece& piece) const;
  [[nodiscard]] Result<std::uint32_t> folder_of(const SourceFile& file);

  DriverProcess& process_;
  std::span<const Region> regions_;
  std::unordered_map<const SourceFile*, std::uint32_t> numbers_;
  std::vector<const SourceFile*> files_;
  std::unordered_map<const Directory*, std::uint32_t> folders_;
  // Host memory, each part once, and where it lies in the memory file.
  std::map<std::pair<const std::uint8_t*, std::size_t>, std::uint64_t> places_;
  std::vector<ByteView> memory_;
  std::uint64_t memory_bytes_ = 0;
};

// Puts the digests of an answer together. They must be as many as the regions need, and of the
// algorithm that was asked for.
class AnswerReader {
 public:
  // `sizes` are the bytes of each region.
  AnswerReader(std::vector<std::uint64_t> sizes, const HashRequest& request);

  // Returns false for digests that were not asked for.
  [[nodiscard]] bool add(const std::vector<Digest>& digests);
  [[nodiscard]] bool is_complete() const { return result_.size() == sizes_.size() && left_ == 0; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // of all regions
  [[nodiscard]] std::vector<ObjectDigests> take() { return std::move(result_); }

 private:
  std::vector<std::uint64_t> sizes_;
  HashAlgorithm hash_;
  std::uint64_t span_;
  std::uint64_t bytes_ = 0;
  std::uint64_t left_ = 0;  // digests of the last outline that are missing
  std::vector<ObjectDigests> result_;
};

}  // namespace assay::gpu_hash
