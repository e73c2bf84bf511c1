// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/kernel_cache.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "schemas/core/sha.h"
#include "schemas/posix/descriptor.h"

namespace assay::gpu_hash {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBinary = 64U << 20;  // bytes

// A cache file is this digest, then the binary. The digest binds the binary to its key.
Digest seal(std::string_view key, ByteView binary) {
  const Digest key_digest = sha256(as_bytes(key));
  return sha(HashAlgorithm::kSha256, {key_digest.bytes(), binary});
}

bool read_all(int fd, std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const ssize_t count = ::read(fd, out.data(), out.size());
    if (count <= 0) {
      return false;
    }
    out = out.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool write_all(int fd, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// An absolute path from the environment; relative ones are ignored, as the XDG specification asks.
fs::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  const fs::path path = value != nullptr ? value : "";
  return path.is_absolute() ? path : fs::path();
}

}  // namespace

KernelCache KernelCache::of_user() {
  fs::path base = from_environment("XDG_CACHE_HOME");
  if (base.empty()) {
    base = from_environment("HOME");
    base = base.empty() ? base : base / ".cache";
  }
  return KernelCache(base.empty() ? base : base / "assay" / "kernels");
}

fs::path KernelCache::file(std::string_view key) const {
  return directory_ / (sha256(as_bytes(key)).hex() + ".bin");
}

std::optional<Bytes> KernelCache::load(std::string_view key) const {
  if (directory_.empty()) {
    return std::nullopt;
  }
  const Descriptor fd(::open(file(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return std::nullopt;
  }
  // What is in the file runs on the device: nobody else may have written it.
  constexpr std::size_t kSealSize = 32;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 022U) != 0 ||
      size <= kSealSize || size > kMaxBinary) {
    return std::nullopt;
  }
  Bytes content(size);
  if (!read_all(fd.get(), content)) {
    return std::nullopt;
  }
  Bytes binary(content.begin() + kSealSize, content.end());
  const Digest expected = seal(key, binary);
  if (!std::ranges::equal(ByteView(content).first(kSealSize), expected.bytes())) {
    return std::nullopt;
  }
  return binary;
}

void KernelCache::store(std::string_view key, ByteView binary) const {
  if (directory_.empty() || binary.empty() || binary.size() > kMaxBinary) {
    return;
  }
  std::error_code error;
  fs::create_directories(directory_, error);
  std::string name = (directory_ / ".new-XXXXXX").string();
  const Descriptor fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd) {
    return;
  }
  const Digest digest = seal(key, binary);
  const bool written = write_all(fd.get(), digest.bytes()) && write_all(fd.get(), binary);
  if (!written || ::rename(name.c_str(), file(key).c_str()) != 0) {
    ::unlink(name.c_str());
  }
}

void KernelCache::drop(std::string_view key) const {
  if (!directory_.empty()) {
    ::unlink(file(key).c_str());
  }
}

}  // namespace assay::gpu_hash
