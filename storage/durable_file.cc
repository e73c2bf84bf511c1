// SPDX-License-Identifier: Apache-2.0
// POSIX calls behind replace_file, each looked at.
#include "storage/durable_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "schemas/posix/files.h"

namespace assay::storage {
namespace {

std::unexpected<Error> failed(const char* what) {
  return fail(ErrorCode::kStorage, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

Status sync_folder_of(const std::string& path) {
  return assay::sync_folder_of(path) ? Status() : failed("a folder cannot be synced");
}

Status sync_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) {
    return errno == ENOENT ? Status() : fail(ErrorCode::kStorage, "a file cannot be opened");
  }
  return ::fsync(file.get()) == 0 ? Status() : fail(ErrorCode::kStorage, "a file cannot be synced");
}

Status replace_file(const std::string& path, ByteView content) {
  const std::string fresh = path + ".new";
  {
    const Descriptor descriptor(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!descriptor) {
      return failed("a file cannot be created");
    }
    if (!write_all(descriptor.get(), content)) {
      return failed("a file cannot be written");
    }
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
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor) {
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
