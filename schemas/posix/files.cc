// SPDX-License-Identifier: Apache-2.0
#include "schemas/posix/files.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace assay {
namespace {

// Calls `read` with what is still to fill, and how much is filled, until all is or nothing comes.
template <typename Read>
std::int64_t fill(std::span<std::uint8_t> out, const Read& read) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = read(out.subspan(done), done);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return -1;
    }
    if (got == 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(done);
}

}  // namespace

Descriptor open_below(int base, std::string_view path, int flags) {
  Descriptor directory;
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string part(path.substr(0, slash));
    if (part.empty() || part == "." || part == "..") {
      errno = EINVAL;
      return {};
    }
    const int parent = directory ? directory.get() : base;
    if (slash == std::string_view::npos) {
      return Descriptor(::openat(parent, part.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
    }
    Descriptor next(::openat(parent, part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) {
      return {};
    }
    directory = std::move(next);
    path.remove_prefix(slash + 1);
  }
}

std::int64_t read_at(int file, std::uint64_t offset, std::span<std::uint8_t> out) {
  return fill(out, [&](std::span<std::uint8_t> rest, std::size_t done) {
    return ::pread(file, rest.data(), rest.size(), static_cast<off_t>(offset + done));
  });
}

std::int64_t read_up_to(int file, std::span<std::uint8_t> out) {
  return fill(out, [&](std::span<std::uint8_t> rest, std::size_t /*done*/) {
    return ::read(file, rest.data(), rest.size());
  });
}

bool write_all(int file, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put <= 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

bool sync_folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory && ::fsync(directory.get()) == 0;
}

}  // namespace assay
