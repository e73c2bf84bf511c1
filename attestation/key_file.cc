// SPDX-License-Identifier: Apache-2.0
// Private keys on disk: who may read them, and writing them once.
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "attestation/keys.h"
#include "attestation/private_key.h"
#include "schemas/posix/files.h"

namespace assay::attestation {
namespace {

constexpr std::size_t kMaxKeyFile = 16384;

std::unexpected<Error> unusable(const char* why) { return fail(ErrorCode::kKeyUnusable, why); }

Result<SecretBytes> read_all(int fd) {
  Bytes buffer(kMaxKeyFile + 1);
  const std::int64_t size = read_up_to(fd, buffer);
  const bool fits = size > 0 && std::cmp_less_equal(size, kMaxKeyFile);
  SecretBytes content(Bytes(buffer.begin(), buffer.begin() + std::max<std::int64_t>(size, 0)));
  secure_wipe(buffer);
  if (!fits) {
    return unusable("the key file is empty, unreadable or larger than a key");
  }
  return content;
}

}  // namespace

Result<std::unique_ptr<Signer>> load_private_key(const std::string& path,
                                                 const SecretBytes& passphrase) {
  // O_NONBLOCK: a pipe in place of the file must not hold us up before fstat sees it.
  const Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) {
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
  if (!file) {
    return errno == EEXIST
               ? fail(ErrorCode::kConflict, "the key file exists; keys are never overwritten")
               : unusable("the key file cannot be created");
  }
  const bool written = write_all(file.get(), pem.view()) && ::fsync(file.get()) == 0;
  if (!file.close() || !written || !sync_folder_of(path)) {
    ::unlink(path.c_str());
    return unusable("the key file cannot be written");
  }
  return {};
}

}  // namespace assay::attestation
