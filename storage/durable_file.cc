// SPDX-License-Identifier: Apache-2.0
// POSIX calls behind replace_file, each looked at.
#include "storage/durable_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace assay::storage {
namespace {

std::unexpected<Error> failed(const char* what) {
  return fail(ErrorCode::kStorage, std::string(what) + ": " + std::strerror(errno));
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags)
      : value_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) {
      ::close(value_);
    }
  }
  [[nodiscard]] int get() const { return value_; }

 private:
  int value_;
};

Status write_all(int descriptor, ByteView content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return failed("a file cannot be written");
    }
    content = content.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace

Status sync_folder_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const Descriptor descriptor(folder.empty() ? "." : folder.string(), O_RDONLY | O_DIRECTORY);
  if (descriptor.get() < 0 || ::fsync(descriptor.get()) != 0) {
    return failed("a folder cannot be synced");
  }
  return {};
}

Status sync_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) {
    return errno == ENOENT ? Status() : fail(ErrorCode::kStorage, "a file cannot be opened");
  }
  const bool synced = ::fsync(file) == 0;
  ::close(file);
  return synced ? Status() : fail(ErrorCode::kStorage, "a file cannot be synced");
}

Status replace_file(const std::string& path, ByteView content) {
  const std::string fresh = path + ".new";
  {
    const Descriptor descriptor(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW);
    if (descriptor.get() < 0) {
      return failed("a file cannot be created");
    }
    ASSAY_TRY(write_all(descriptor.get(), content));
    if (::fsync(descriptor.get()) != 0) {
      return failed("a file cannot be synced");
    }
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    return failed("a file cannot be replaced");
  }
  return sync_folder_of(path);
}

Result<Bytes> read_file(const std::string& path, std::size_t max_bytes) {
  const Descriptor descriptor(path, O_RDONLY);
  if (descriptor.get() < 0) {
    if (errno == ENOENT) {
      return fail(ErrorCode::kNotFound, "the file does not exist");
    }
    return failed("a file cannot be opened");
  }
  Bytes content;
  std::array<std::uint8_t, 4096> piece{};
  while (true) {
    const ssize_t count = ::read(descriptor.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return failed("a file cannot be read");
    }
    if (count == 0) {
      return content;
    }
    content.insert(content.end(), piece.begin(), piece.begin() + count);
    if (content.size() > max_bytes) {
      return fail(ErrorCode::kLimitExceeded, "a file is larger than it can be");
    }
  }
}

}  // namespace assay::storage
