// SPDX-License-Identifier: Apache-2.0
// What every engine does: it turns byte strings (objects) into the roots of their hash trees. Spec:
// schemas/tree.md sections 2 and 7. The CPU engine is the reference. Every other engine returns the
// same digests or an error, never a wrong root.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_hash/derive.h"
#include "gpu_hash/region.h"
#include "schemas/core/artifact.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

class TagKey;

// Receives the bytes read and hashed since the start of the call; 0 again and again, for 10 minutes
// at most, while kernels are compiled at first use. Worker threads call this function, one call at
// a time and never after hash() has returned. It must return quickly and must not call the engine.
using BytesDone = std::function<void(std::uint64_t bytes_done)>;

struct HashRequest {
  TreeParameters parameters{};
  // Bytes that one outline digest (schemas/core/outline.h) covers: a power of two from the chunk
  // size to 2^40. 0: no outline.
  std::uint64_t outline_span = 0;
  BytesDone progress{};
  std::stop_token stop{};
};

struct ObjectDigests {
  Digest root;
  // Digest i covers bytes [i * span, (i + 1) * span). Empty for an empty object and when no outline
  // was asked for.
  std::vector<Digest> outline;
};

// The result of Engine::derive(). A list of digests may have an outline, as the request wants it.
struct Derived {
  std::vector<ObjectDigests> sources;  // of all loads, one after the other
  std::vector<ObjectDigests> results;  // of all rounds
};

// The device and driver that compute, for reports and messages.
struct EngineInfo {
  std::string id;      // as --device takes it: "cpu", "opencl:0"
  std::string device;  // name of the hardware
  std::string driver;  // version of the driver or library
  // SHA-256 of the kernel source; absent for the CPU.
  std::optional<Digest> kernel_digest;
  // UUID of the device as its vendor's tools write it ("GPU-..."); empty: unknown, or the CPU.
  std::string uuid{};
  // Address of the device on the PCI bus, as Linux writes it ("0000:1b:00.0"); empty: unknown, or
  // the CPU.
  std::string pci{};
  bool operator==(const EngineInfo&) const = default;
};

// Descriptors that import_memory() of an engine takes.
enum class Imports : std::uint8_t {
  kNothing,
  kMemoryFiles,        // memory files, sealed against shrinking
  kDriverDescriptors,  // descriptors that the device's driver exported
};

class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual const EngineInfo& info() const = 0;

  // Returns one result per region, in order. Apart from the results, memory use is bounded,
  // whatever the sizes of the regions. After any error no digests are returned. Thread-safe; calls
  // on one engine may wait for each other.
  // Errors: invalid-parameter for bad parameters, a bad span, or device memory of another engine;
  // limit-exceeded; file-changed, file-unreadable and unsupported-file-type with the file's label
  // in `where`; device-failed; device-self-test-failed; cancelled when a stop was requested.
  [[nodiscard]] virtual Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                                const HashRequest& request) = 0;

  // Returns how much derive() takes at once; nothing: this engine derives nothing.
  [[nodiscard]] virtual DeriveRoom derive_room() const { return {}; }
  // Hashes the sources, moves their elements to the results and hashes these; nothing of both is
  // kept. The caller must compare the digests of the sources before it uses those of the results.
  // HashRequest::progress counts the bytes of sources. Errors: those of hash() and of
  // check(DeriveRequest).
  [[nodiscard]] virtual Result<Derived> derive(const DeriveRequest& derivation,
                                               const HashRequest& request);

  // Returns the engine of the device with this UUID: this engine, or one of those that this engine
  // is made of; nullptr when there is none. The returned engine lives as long as this engine.
  [[nodiscard]] virtual Engine* of_device(std::string_view uuid);

  // The functions below are for memory on the engine's device. An engine without such memory, such
  // as the CPU engine, returns invalid-parameter.

  // Returns the kind of descriptor that import_memory() takes.
  [[nodiscard]] virtual Imports imports() const { return Imports::kNothing; }
  // Imports memory of another process without a copy. `fd` is the file descriptor that the device's
  // driver exported in that process for an allocation of `size` bytes. The engine takes ownership
  // of `fd`. On OpenCL devices that are CPUs, `fd` is a memory file sealed against shrinking. A
  // descriptor of another kind is refused. The other process may still write to the memory. The
  // memory stays allocated while the returned object lives. The returned object must not outlive
  // the engine. Errors: invalid-parameter, device-failed.
  [[nodiscard]] virtual Result<std::shared_ptr<const DeviceMemory>> import_memory(
      Descriptor fd, std::uint64_t size);

  // hash_tagged() hashes device memory and computes keyed tags in the same pass. tags() computes
  // the tags alone (tags.h). Tags are a list of digests for each region. All pieces must begin at
  // multiples of 16 bytes.
  [[nodiscard]] virtual Result<std::vector<ObjectDigests>> hash_tagged(
      std::span<const Region> regions, const HashRequest& request, const TagKey& key,
      std::vector<std::vector<Digest>>& tags);
  [[nodiscard]] virtual Result<std::vector<std::vector<Digest>>> tags(
      std::span<const Region> regions, const HashRequest& request, const TagKey& key);
};

// Checks the parameters and the span of `request`. The conditions are the same for every engine.
// Errors: invalid-parameter.
[[nodiscard]] Status check(const HashRequest& request);

}  // namespace assay::gpu_hash
