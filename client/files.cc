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

#include "attestation/private_key.h"
#include "schemas/posix/files.h"

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

// A regular file that may hold a secret; `status` says whose it is.
Result<Bytes> read_regular(const std::string& path, std::uint64_t limit, struct stat& status) {
  // O_NONBLOCK: a pipe in place of the file must not hold us up before fstat sees it.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return unreadable(path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kKeyUnusable, "A secret must be in a regular file", path);
  }
  return read_all(fd.get(), path, limit);
}

Status check_guarded(const struct stat& status, const std::string& path) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return fail(ErrorCode::kKeyUnusable, "The file with the secret belongs to another user", path);
  }
  if ((status.st_mode & 0077U) != 0) {
    return fail(ErrorCode::kKeyUnusable,
                "Others may read the file with the secret; run chmod 600 on it", path);
  }
  return {};
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

Result<SecretBytes> read_secret_file(const std::string& path) {
  constexpr std::uint64_t kMaxSecretBytes = 4096;
  struct stat status{};
  ASSAY_ASSIGN(Bytes bytes, read_regular(path, kMaxSecretBytes, status));
  if (Status guarded = check_guarded(status, path); !guarded) {
    secure_wipe(bytes);
    return std::unexpected(std::move(guarded).error());
  }
  if (!bytes.empty() && bytes.back() == '\n') {
    bytes.pop_back();
  }
  if (!bytes.empty() && bytes.back() == '\r') {
    bytes.pop_back();
  }
  if (bytes.empty()) {
    return fail(ErrorCode::kKeyUnusable, "The file with the secret is empty", path);
  }
  return SecretBytes(std::move(bytes));
}

Status check_key_file(const std::string& path) {
  constexpr std::uint64_t kMaxKeyBytes = 65536;
  struct stat status{};
  ASSAY_ASSIGN(Bytes bytes, read_regular(path, kMaxKeyBytes, status));
  const bool encrypted = attestation::is_encrypted_pem(as_text(bytes));
  secure_wipe(bytes);
  return encrypted ? Status() : check_guarded(status, path);
}

Status write_file(const std::string& path, ByteView bytes, mode_t mode) {
  struct stat old{};
  const bool exists = path != "-" && ::stat(path.c_str(), &old) == 0;
  if (path == "-" || (exists && is_standard_output(old))) {
    return write_all(STDOUT_FILENO, "standard output", bytes);
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
