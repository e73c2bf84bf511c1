// SPDX-License-Identifier: Apache-2.0
// Bytes of files on their way into the CPU engine, for a caller who copies what is hashed: the
// copied bytes are the hashed bytes, because both come from one read into one memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "gpu_hash/engine.h"
#include "gpu_hash/source_file.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

class ReadSink {
 public:
  virtual ~ReadSink() = default;

  // Takes the bytes of `file` from byte `offset` on: `parts`, one part after the other. The engine
  // then hashes these parts where they lie. Several threads call this function at once. An error
  // ends Engine::hash() with that error.
  [[nodiscard]] virtual Status take(const SourceFile& file, std::uint64_t offset,
                                    std::span<const std::span<std::uint8_t>> parts) = 0;
};

// Makes the CPU engine (gpu_hash/cpu_engine.h) that gives `sink` the bytes of each file piece that
// it hashes. Each byte of a region comes once. `sink` must outlive the engine.
[[nodiscard]] std::unique_ptr<Engine> make_cpu_engine(unsigned threads, ReadSink& sink);

}  // namespace assay::gpu_hash
