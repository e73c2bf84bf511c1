// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share.
#include "tests/gpu_hash/support.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>

#include "gpu_hash/dispatch.h"
#include "gpu_hash/drivers.h"
#include "schemas/core/outline.h"
#include "schemas/core/sha.h"

namespace assay::gpu_hash::test {
namespace {

namespace fs = std::filesystem;

// Before anything asks for a device: caches of OpenCL and of ours belong to the build folder.
// PoCL's is that of the programs' tests too, because compiling the kernels takes longer than most
// tests.
const bool kPrivateEnvironment = [] {
  const fs::path home = fs::path(ASSAY_BINARY_DIR) / "gpu_hash_test_home";
  const fs::path pocl = fs::path(ASSAY_BINARY_DIR) / "pocl";
  fs::create_directories(home);
  fs::create_directories(pocl);
  ::setenv("HOME", home.c_str(), 1);
  ::setenv("XDG_CACHE_HOME", (home / "cache").c_str(), 1);
  ::setenv("POCL_CACHE_DIR", pocl.c_str(), 1);
  return true;
}();

// RFC 9162 section 2.1.1, as it is written there.
Digest mth(HashAlgorithm algorithm, std::span<const ByteView> d) {
  if (d.empty()) {
    return sha(algorithm, ByteView{});
  }
  if (d.size() == 1) {
    Bytes message = {0x00};
    message.insert(message.end(), d[0].begin(), d[0].end());
    return sha(algorithm, message);
  }
  const std::size_t k = std::bit_floor(d.size() - 1);
  const Digest left = mth(algorithm, d.first(k));
  const Digest right = mth(algorithm, d.subspan(k));
  Bytes message = {0x01};
  message.insert(message.end(), left.bytes().begin(), left.bytes().end());
  message.insert(message.end(), right.bytes().begin(), right.bytes().end());
  return sha(algorithm, message);
}

std::vector<ByteView> cut(ByteView bytes, std::uint64_t size) {
  std::vector<ByteView> parts;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    parts.push_back(bytes.subspan(at, std::min<std::uint64_t>(size, bytes.size() - at)));
  }
  return parts;
}

}  // namespace

Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(i % 251);
  }
  return bytes;
}

Digest reference_root(const TreeParameters& parameters, ByteView object) {
  return mth(parameters.hash, cut(object, parameters.chunk_size));
}

std::vector<Digest> reference_outline(const TreeParameters& parameters, ByteView object,
                                      std::uint64_t span) {
  std::vector<Digest> digests;
  for (const ByteView part : cut(object, span)) {
    digests.push_back(reference_root(parameters, part));
  }
  return digests;
}

ObjectDigests hash_one(Engine& engine, const TreeParameters& parameters, const Region& region,
                       std::uint64_t span) {
  auto result = engine.hash({&region, 1}, HashRequest{parameters, span, {}, {}});
  if (!result) {
    ADD_FAILURE() << to_string(result.error());
    return {sha256({}), {}};
  }
  return std::move(result->front());
}

std::unique_ptr<Engine> opencl_engine(std::uint64_t slice_bytes) {
  DeviceChoice choice;
  choice.kind = DeviceChoice::Kind::kOpenCl;
  EngineOptions options;
  options.slice_bytes = slice_bytes;
  auto engine = make_engine(drivers_in_this_process(), choice, options);
  if (!engine && engine.error().code != ErrorCode::kDeviceNotFound) {
    ADD_FAILURE() << to_string(engine.error());
  }
  return engine ? std::move(*engine) : nullptr;
}

TempDir::TempDir() {
  std::string name = (fs::temp_directory_path() / "assay-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    std::abort();
  }
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TempDir::write(std::string_view relative, ByteView content) const {
  const fs::path file = path_ / relative;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << as_text(content);
  return file;
}

fs::path TempDir::write(std::string_view relative, std::string_view content) const {
  return write(relative, as_bytes(content));
}

Bytes read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return to_bytes(out.str());
}

Json load_vectors(const std::string& name) {
  const fs::path file = fs::path(ASSAY_SOURCE_DIR) / "tests" / "vectors" / (name + ".json");
  auto json = parse_json(read_file(file), {.max_bytes = 256U << 20, .max_depth = 64});
  if (!json) {
    ADD_FAILURE() << file << ": " << to_string(json.error());
    return Json::object();
  }
  return std::move(*json);
}

Bytes safetensors_file(std::string_view header, ByteView data) {
  Bytes file;
  for (int i = 0; i < 8; ++i) {
    file.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  }
  file.insert(file.end(), header.begin(), header.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

}  // namespace assay::gpu_hash::test
