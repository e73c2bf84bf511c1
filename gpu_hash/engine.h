// SPDX-License-Identifier: Apache-2.0
// What every engine does: turn byte strings (objects) into the roots of their hash trees.
// Spec: schemas/tree.md sections 2 and 7. The CPU engine is the truth; every other engine gives the
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

#include "gpu_hash/region.h"
#include "schemas/core/artifact.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {

class TagKey;

// Bytes read and hashed since the start of the call. Called by worker threads, one call at a time
// and never after hash() returned; it must be quick and must not call the engine.
using BytesDone = std::function<void(std::uint64_t bytes_done)>;

struct HashRequest {
  TreeParameters parameters{};
  // Bytes per outline digest: a power of two from the chunk size to 2^40; 0 asks for no outline.
  std::uint64_t outline_span = 0;
  BytesDone progress{};
  std::stop_token stop{};
};

struct ObjectDigests {
  Digest root;
  // Digest i covers bytes [i * span, (i + 1) * span); empty for an empty object and when no outline
  // was asked for.
  std::vector<Digest> outline;
};

// Who computes: for reports and messages.
struct EngineInfo {
  std::string id;      // as --device takes it: "cpu", "opencl:0"
  std::string device;  // name of the hardware
  std::string driver;  // version of the driver or library
  // SHA-256 of the kernel source; absent for the CPU.
  std::optional<Digest> kernel_digest;
  // Of the device as its vendor's tools write it ("GPU-..."); empty: unknown, or no such device.
  std::string uuid{};
};

// Descriptors that import_memory() of an engine takes.
enum class Imports : std::uint8_t {
  kNothing,
  kMemoryFiles,        // memory files, sealed against shrinking
  kDriverDescriptors,  // those that the driver of the device exported
};

class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual const EngineInfo& info() const = 0;

  // hash() returns one result per region, in order. Memory is bounded whatever the sizes are, the
  // results aside. All or nothing: with any error there are no digests. Thread-safe; calls on one
  // engine may wait for each other.
  // Errors: invalid-parameter (parameters, span, device memory of another engine), limit-exceeded,
  // file-changed, file-unreadable, unsupported-file-type (`where` is the file's label),
  // device-failed, device-self-test-failed, cancelled (stop was requested).
  [[nodiscard]] virtual Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                                const HashRequest& request) = 0;

  // The engine of the device with this UUID: this one, or one that it is made of; nullptr when
  // there is none. It lives as long as this one.
  [[nodiscard]] virtual Engine* of_device(std::string_view uuid);

  // What follows is there for memory that lies on the engine's device; an engine without such
  // memory (the CPU's) answers invalid-parameter.

  [[nodiscard]] virtual Imports imports() const { return Imports::kNothing; }
  // Memory of another process, without a copy: `fd` is what its driver exported for an allocation
  // of `size` bytes, and it is taken over. On CPU devices it is a memory file sealed against
  // shrinking; a descriptor of another kind is refused. The owner may write to the memory, and
  // while this object lives it stays allocated; it must not outlive the engine. invalid-parameter,
  // device-failed.
  [[nodiscard]] virtual Result<std::shared_ptr<const DeviceMemory>> import_memory(
      Descriptor fd, std::uint64_t size);

  // hash() of device memory that also computes keyed tags, and the tags alone (tags.h): a list of
  // digests for each region. All pieces begin at multiples of 16 bytes.
  [[nodiscard]] virtual Result<std::vector<ObjectDigests>> hash_tagged(
      std::span<const Region> regions, const HashRequest& request, const TagKey& key,
      std::vector<std::vector<Digest>>& tags);
  [[nodiscard]] virtual Result<std::vector<std::vector<Digest>>> tags(
      std::span<const Region> regions, const HashRequest& request, const TagKey& key);
};

// Checks what is the same for every engine: parameters and span. invalid-parameter.
[[nodiscard]] Status check(const HashRequest& request);

}  // namespace assay::gpu_hash
