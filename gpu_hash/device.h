// SPDX-License-Identifier: Apache-2.0
// Devices for people: which devices exist, whether they compute correctly, and how fast they are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu_hash/dispatch.h"
#include "gpu_hash/drivers.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Lists the CPU engine first, then what Drivers::list() has.
[[nodiscard]] DeviceListing list_devices(Drivers& drivers);

// The result of the self-test on one device.
struct SelfTest {
  DeviceInfo device;
  Status result;  // device-self-test-failed, device-failed
};

// Hashes test data on every device, including the CPU engine, and compares the results with known
// digests.
[[nodiscard]] std::vector<SelfTest> self_test_devices(Drivers& drivers);

// One measured rate and the limit that applies to it, measured in the same run.
struct BenchFigure {
  // "resident": hashing of data that are already in the memory where the engine computes.
  // "streamed": hashing of data in host memory, including the copy to the device. For the CPU
  // engine "streamed" equals "resident", because the CPU engine computes in host memory. Engines
  // with memory of their own have two more figures. "tagged": hashing of resident data, with keyed
  // tags (tags.h) computed in the same pass. "tags": computing the tags alone.
  std::string name;
  double rate = 0;         // bytes per second
  double limit = 0;        // bytes per second: the smallest of the limits that apply
  std::string limit_is{};  // name of that limit, in words
  [[nodiscard]] double fraction() const { return limit > 0 ? rate / limit : 0; }
};

// All measured limits. BenchFigure::limit is the smallest of those that apply to the figure. 0: not
// measured.
struct BenchLimits {
  // Bytes per second at which the whole device reads the memory that contains resident data.
  double memory_read = 0;
  // Bytes per second of copies from pinned memory to the device, in slices of the size that
  // streaming uses (EngineOptions::slice_bytes).
  double pinned_copy = 0;
  // Rotations and logic operations per second on 32-bit words (opencl/limits.h), with all integer
  // pipes of the device. This figure divided by integer_operations() is an upper bound of the
  // chunks hashed per second.
  double integer_operations = 0;
  // CPU engine: bytes per second of hashing alone. Every thread hashes chunks that stay in its
  // cache, with the code that the engine uses.
  double cached_hash = 0;
  // CPU engine: bytes per second of hashing with OpenSSL, one stream on each thread, all threads at
  // the same time. This figure is not a limit; it shows the rate of software that hashes with plain
  // OpenSSL.
  double openssl_streams = 0;
};

struct BenchResult {
  EngineInfo engine;
  HashAlgorithm hash = HashAlgorithm::kSha256;
  std::uint64_t bytes = 0;  // bytes measured for each figure
  std::string variant{};    // kernel variant chosen for the device; empty for the CPU engine
  std::vector<BenchFigure> figures{};
  BenchLimits limits{};
};

// Returns the least number of rotations, shifts and logic operations on 32-bit words that hashing
// one chunk takes. A logic operation of up to three inputs counts as one. Only the integer pipes of
// a device can do these operations. Additions are not counted, because a device may do them on
// another pipe. The result is therefore a lower bound: a device without three-input logic, or with
// additions on the integer pipes, needs more operations.
//
// SHA-256 (FIPS 180-4 sections 4.1.2 and 6.2), a block of 64 bytes:
//   64 rounds of 6 rotations and 4 logic operations (both sums, Ch, Maj)           640
//   48 schedule words of 4 rotations, 2 shifts and 2 logic operations              384
//   16 byte swaps                                                                   16
//                                                                                1,040
// SHA-384 (sections 4.1.3 and 6.4), a block of 128 bytes. Each operation on 64-bit words counts as
// two operations on 32-bit words:
//   80 rounds of 10 operations                                                   1,600
//   64 schedule words of 8 operations                                            1,024
//   16 byte swaps                                                                   32
//                                                                                2,656
// A chunk's message is a prefix byte, the chunk, a byte 0x80 and a length of 8 or 16 bytes. For
// 16 KiB these are 257 blocks with SHA-256 and 129 blocks with SHA-384. The inner nodes of the tree
// would add less than 1 % and are not counted.
[[nodiscard]] std::uint64_t integer_operations(HashAlgorithm hash, std::uint32_t chunk_size);

// Measures one device with the given algorithm at the default chunk size. `bytes` is the amount of
// data, rounded to whole slices (EngineOptions::slice_bytes), at least one slice. A device whose
// memory is smaller than `bytes` is measured with less data. Rates are wall clock, best of a few
// runs. Takes at most `bytes` of extra host memory. Errors: those of make_engine() and
// Engine::hash().
[[nodiscard]] Result<BenchResult> bench_device(Drivers& drivers, const DeviceChoice& choice,
                                               HashAlgorithm hash, std::uint64_t bytes,
                                               const EngineOptions& options = {});

}  // namespace assay::gpu_hash
