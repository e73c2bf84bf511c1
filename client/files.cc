// SPDX-License-Identifier: Apache-2.0
#include "client/files.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schemas/posix/files.h"
#include "schemas/posix/secret_file.h"

namespace assay::client {

namespace {

constexpr std::size_t kBlock = 65536;

std::unexpected<Error> unreadable(const std::string& path, int number) {
  return fail(ErrorCode::kFileUnreadable, std::string("Cannot read the file: ") + strerror(number),
              path);
}

std::unexpected<Error> unwritable(const std::string& path, int number) {
  return fail(ErrorCode::kFileUnreadable, std::string("Cannot write the file: ") + strerror(number),
              path);
}

Result<Bytes> read_all(int fd, const std::string& path, std::uint64_t limit) {
  Bytes bytes;
  bytes.reserve(kBlock);  // small files, secrets among them, leave no copies behind as they grow
  std::array<std::uint8_t, kBlock> block{};
  while (true) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return unreadable(path, errno);
    }
    if (got == 0) {
      secure_wipe(block);
      return bytes;
    }
    const auto count = static_cast<std::size_t>(got);
    if (bytes.size() + count > limit) {
      return fail(ErrorCode::kLimitExceeded,
                  "The file has more than " + std::to_string(limit) + " bytes", path);
    }
    bytes.insert(bytes.end(), block.begin(), block.begin() + got);
  }
}

Status write_all(int fd, const std::string& path, ByteView bytes) {
  return assay::write_all(fd, bytes) ? Status() : unwritable(path, errno);
}

// True for /dev/stdout and what it leads to, a regular file perhaps: replaced, it would miss what
// is printed after this.
bool is_standard_output(const struct stat& file) {
  struct stat out{};
  return ::fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == file.st_dev &&
         out.st_ino == file.st_ino;
}

// Devices and pipes: a rename would put a file in their place.
Status write_in_place(const std::string& path, ByteView bytes) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) {
    return unwritable(path, errno);
  }
  ASSAY_TRY(write_all(fd.get(), path, bytes));
  return fd.close() ? Status() : unwritable(path, errno);
}

}  // namespace

Result<Bytes> read_file(const std::string& path, std::uint64_t limit) {
  if (path == "-") {
    return read_all(STDIN_FILENO, "standard input", limit);
  }
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return unreadable(path, errno);
  }
  return read_all(fd.get(), path, limit);
}

void protect_process() {
  const rlimit none{.rlim_cur = 0, .rlim_max = 0};
  (void)::setrlimit(RLIMIT_CORE, &none);
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

Result<SecretBytes> read_key_file(const std::string& path) {
  constexpr std::size_t kMaxKeyBytes = 65536;
  ASSAY_ASSIGN(SecretFile file, read_secret(path, kMaxKeyBytes));
  return std::move(file.content);
}

Result<SecretBytes> read_secret_file(const std::string& path) {
  constexpr std::size_t kMaxSecretBytes = 4096;
  ASSAY_ASSIGN(const SecretBytes content, read_guarded(path, kMaxSecretBytes));
  std::string_view text = as_text(content.view());
  text.remove_suffix(text.ends_with('\n') ? 1 : 0);
  text.remove_suffix(text.ends_with('\r') ? 1 : 0);
  if (text.empty()) {
    return fail(ErrorCode::kKeyUnusable, "The file with the secret is empty", path);
  }
  return SecretBytes(to_bytes(text));
}

Status write_file(const std::string& path, ByteView bytes, mode_t mode) {
  struct stat old{};
  const bool exists = path != "-" && ::stat(path.c_str(), &old) == 0;
  if (path == "-" || (exists && is_standard_output(old))) {
    // A reader that closed the pipe early, such as head, has what it wanted.
    return assay::write_all(STDOUT_FILENO, bytes) || errno == EPIPE
               ? Status()
               : unwritable("standard output", errno);
  }
  if (exists && !S_ISREG(old.st_mode) && !S_ISDIR(old.st_mode)) {
    return write_in_place(path, bytes);
  }
  std::string temporary = path + ".XXXXXX";
  Descriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) {
    return unwritable(path, errno);
  }
  // A file that is there keeps its mode; a new one obeys the umask like any other.
  if (exists) {
    mode = old.st_mode & 07777U;
  } else {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    mode &= ~mask;
  }
  Status status = write_all(fd.get(), path, bytes);
  if (status && (::fchmod(fd.get(), mode) != 0 || ::fsync(fd.get()) != 0 || !fd.close() ||
                 ::rename(temporary.c_str(), path.c_str()) != 0)) {
    status = unwritable(path, errno);
  }
  if (!status) {
    ::unlink(temporary.c_str());
  }
  return status;
}

Status write_file(const std::string& path, std::string_view text, mode_t mode) {
  return write_file(path, as_bytes(text), mode);
}

Status write_new_file(const std::string& path, std::string_view text, mode_t mode) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!fd) {
    return errno == EEXIST
               ? fail(ErrorCode::kConflict,
                      "The file exists and is not overwritten; choose another name", path)
               : unwritable(path, errno);
  }
  Status status = write_all(fd.get(), path, as_bytes(text));
  if (status && (::fsync(fd.get()) != 0 || !fd.close())) {
    status = unwritable(path, errno);
  }
  if (!status) {
    ::unlink(path.c_str());
  }
  return status;
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace assay::client
