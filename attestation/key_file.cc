// SPDX-License-Identifier: Apache-2.0
// Private keys on disk: who may read them, and writing them once.
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include "attestation/keys.h"
#include "attestation/private_key.h"

namespace assay::attestation {
namespace {

constexpr std::size_t kMaxKeyFile = 16384;

std::unexpected<Error> unusable(const char* why) { return fail(ErrorCode::kKeyUnusable, why); }

// Owner of a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  [[nodiscard]] int get() const { return fd_; }
  // Closes now; false when the system reports an error.
  [[nodiscard]] bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

Result<SecretBytes> read_all(int fd) {
  Bytes buffer(kMaxKeyFile + 1);
  std::size_t size = 0;
  while (size < buffer.size()) {
    const ssize_t got = ::read(fd, buffer.data() + size, buffer.size() - size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  const bool fits = size > 0 && size <= kMaxKeyFile;
  SecretBytes content(Bytes(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size)));
  secure_wipe(buffer);
  if (!fits) {
    return unusable("the key file is empty, unreadable or larger than a key");
  }
  return content;
}

bool write_all(int fd, ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
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

// The new name is durable only with its directory.
bool sync_directory_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return directory.get() >= 0 && ::fsync(directory.get()) == 0;
}

}  // namespace

Result<std::unique_ptr<Signer>> load_private_key(const std::string& path,
                                                 const SecretBytes& passphrase) {
  // O_NONBLOCK: a pipe in place of the file must not hold us up before fstat sees it.
  const Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.get() < 0) {
    return unusable(errno == ELOOP ? "the key file is a symbolic link; name the file itself"
                                   : "the key file cannot be opened");
  }
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return unusable("the key file is not a regular file");
  }
  ASSAY_ASSIGN(const SecretBytes content, read_all(file.get()));
  const std::string_view pem = as_text(content.view());
  if (!is_encrypted_pem(pem)) {
    if (status.st_uid != ::geteuid()) {
      return unusable("the key file belongs to another user; chown it or encrypt the key");
    }
    if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
      return unusable("others may access the key file; chmod 600 it or encrypt the key");
    }
  }
  return parse_private_key(pem, passphrase);
}

Status save_private_key(const Signer& signer, const std::string& path,
                        const SecretBytes& passphrase) {
  ASSAY_ASSIGN(const SecretBytes pem, encode_private_key(signer, passphrase));
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         S_IRUSR | S_IWUSR));
  if (file.get() < 0) {
    return errno == EEXIST
               ? fail(ErrorCode::kConflict, "the key file exists; keys are never overwritten")
               : unusable("the key file cannot be created");
  }
  const bool written = write_all(file.get(), pem.view()) && ::fsync(file.get()) == 0;
  if (!file.close() || !written || !sync_directory_of(path)) {
    ::unlink(path.c_str());
    return unusable("the key file cannot be written");
  }
  return {};
}

}  // namespace assay::attestation
