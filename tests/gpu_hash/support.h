// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: patterns, the simplest possible reference, folders, vectors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_hash/engine.h"
#include "schemas/core/artifact.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/json.h"
#include "tests/support/seed.h"

namespace assay::gpu_hash::test {

// Byte i is i mod 251: no block, chunk or word looks like its neighbour.
[[nodiscard]] Bytes pattern(std::size_t size);

// Root and outline straight from the definition: one thread, recursion, everything in memory.
[[nodiscard]] Digest reference_root(const TreeParameters& parameters, ByteView object);
[[nodiscard]] std::vector<Digest> reference_outline(const TreeParameters& parameters,
                                                    ByteView object, std::uint64_t span);

// Hashes one object; fails the test on an error.
[[nodiscard]] ObjectDigests hash_one(Engine& engine, const TreeParameters& parameters,
                                     const Region& region, std::uint64_t span = 0);

// An OpenCL engine with small slices, or null on a machine without a device.
[[nodiscard]] std::unique_ptr<Engine> opencl_engine(std::uint64_t slice_bytes = 1);

// A folder that is removed at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Writes a file and the folders above it.
  std::filesystem::path write(std::string_view relative, ByteView content) const;
  std::filesystem::path write(std::string_view relative, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

// Random numbers from a seed that a failing test prints.
class Random {
 public:
  Random() : seed_(random_test_seed()), engine_(seed_) {}
  [[nodiscard]] std::string text() const { return test_seed_text(seed_); }
  // From 0 to `count` - 1.
  [[nodiscard]] std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(engine_);
  }

 private:
  std::uint64_t seed_;
  std::mt19937_64 engine_;
};

[[nodiscard]] Bytes read_file(const std::filesystem::path& path);

// tests/vectors/<name>.json.
[[nodiscard]] Json load_vectors(const std::string& name);

// A safetensors file of one header and its data.
[[nodiscard]] Bytes safetensors_file(std::string_view header, ByteView data);

}  // namespace assay::gpu_hash::test
