// SPDX-License-Identifier: Apache-2.0
// Devices for people: what there is, whether it computes right, and how fast it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu_hash/dispatch.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

struct DeviceInfo {
  std::string id;        // for --device: "cpu", "opencl:0"
  std::string name;      // of the hardware
  std::string platform;  // "CPU engine" for the CPU engine
  std::string driver;    // version
  std::string type;      // "cpu", "gpu", "accelerator", "other"
  std::uint64_t memory_bytes = 0;
  std::uint64_t max_allocation_bytes = 0;  // 0 for the CPU engine
  unsigned compute_units = 0;
};

// The CPU engine first, then the OpenCL devices: GPUs, accelerators, others, CPUs; among equals by
// name. The order of platforms never matters. device-failed when a platform cannot be asked.
[[nodiscard]] Result<std::vector<DeviceInfo>> list_devices();

struct SelfTest {
  DeviceInfo device;
  Status result;  // device-self-test-failed, device-failed
};

// Computes the known answers on every device, the CPU engine included.
[[nodiscard]] Result<std::vector<SelfTest>> self_test_devices();

// One rate beside what bounds it, measured in the same run.
struct BenchFigure {
  // "resident": data already where the engine computes. "streamed": from host memory to the root;
  // for the CPU engine, which computes there, the same as resident. Of engines with memory of their
  // own also "tagged": resident data with keyed tags in the same pass, and "tags": the tags alone
  // (tags.h).
  std::string name;
  double rate = 0;         // bytes per second
  double limit = 0;        // bytes per second: the smallest of the limits that apply
  std::string limit_is{};  // which one, in words
  [[nodiscard]] double fraction() const { return limit > 0 ? rate / limit : 0; }
};

// What was measured to bound the figures, whether it was the smallest or not. 0 is not measured.
struct BenchLimits {
  // Bytes per second of reading the memory that resident data lie in, with all that the device has.
  double memory_read = 0;
  // Bytes per second of copies from pinned memory to the device, slices as streaming makes them.
  double pinned_copy = 0;
  // Rotations and logic operations per second on 32-bit words (opencl/limits.h), all that the
  // device's integer pipes give. Divided by integer_operations() this bounds hashing.
  double integer_operations = 0;
  // CPU engine. Bytes per second of hashing alone: every thread hashes chunks that stay in its
  // cache, with the code that the engine uses.
  double cached_hash = 0;
  // CPU engine, and no limit but what is in use elsewhere: bytes per second of one OpenSSL stream
  // on each thread, all at once.
  double openssl_streams = 0;
};

struct BenchResult {
  EngineInfo engine;
  HashAlgorithm hash = HashAlgorithm::kSha256;
  std::uint64_t bytes = 0;  // measured per figure
  std::string variant{};    // of the kernels, as chosen for the device; empty for the CPU engine
  std::vector<BenchFigure> figures{};
  BenchLimits limits{};
};

// Rotations, shifts and logic operations on 32-bit words that hashing one chunk takes at least,
// with a logic operation of up to three inputs counted as one. They are what only an integer pipe
// has; additions are not counted, because a device may do them on another one. So this is a bound
// from below, and a device without three-input logic, or with additions on the same pipe, stays
// further away from the limit that follows.
//
// SHA-256 (FIPS 180-4 sections 4.1.2 and 6.2), a block of 64 bytes:
//   64 rounds of 6 rotations and 4 logic operations (both sums, Ch, Maj)           640
//   48 schedule words of 4 rotations, 2 shifts and 2 logic operations              384
//   16 byte swaps                                                                   16
//                                                                                1,040
// SHA-384 (sections 4.1.3 and 6.4), a block of 128 bytes, two operations on 32-bit words for each
// one on 64-bit words:
//   80 rounds of 10 operations                                                   1,600
//   64 schedule words of 8 operations                                            1,024
//   16 byte swaps                                                                   32
//                                                                                2,656
// A chunk's message is a prefix byte, the chunk, a byte 0x80 and a length of 8 or 16 bytes: 257
// blocks for 16 KiB with SHA-256, 129 with SHA-384. The inner nodes, under 1 % more, are left out.
[[nodiscard]] std::uint64_t integer_operations(HashAlgorithm hash, std::uint32_t chunk_size);

// Measures one device with `bytes` of data (rounded to whole slices, at least one; less when the
// device has less memory) and the given algorithm at the default chunk size. Rates are wall clock,
// best of a few runs. Takes at most `bytes` of extra host memory. Errors of make_engine() and
// Engine::hash().
[[nodiscard]] Result<BenchResult> bench_device(const DeviceChoice& choice, HashAlgorithm hash,
                                               std::uint64_t bytes,
                                               const EngineOptions& options = {});

}  // namespace assay::gpu_hash
