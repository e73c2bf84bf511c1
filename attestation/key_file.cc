// SPDX-License-Identifier: Apache-2.0
// Private keys on disk: who may read them, and writing them once.
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "attestation/keys.h"
#include "attestation/private_key.h"
#include "schemas/key_advice.h"
#include "schemas/posix/files.h"
#include "schemas/posix/secret_file.h"

namespace assay::attestation {
namespace {

constexpr std::size_t kMaxKeyFile = 16384;

std::unexpected<Error> unusable(std::string why, std::string path) {
  return fail(ErrorCode::kKeyUnusable, std::move(why), std::move(path));
}

}  // namespace

Result<std::unique_ptr<Signer>> load_private_key(const std::string& path,
                                                 const SecretBytes& passphrase) {
  const auto about_file = [&path](const Error& error) {
    return fail(ErrorCode::kKeyUnusable, error.detail, path);
  };
  const Result<SecretFile> file = read_secret(path, kMaxKeyFile);
  if (!file) {
    return about_file(file.error());
  }
  const std::string_view pem = as_text(file->content.view());
  if (const auto advice = private_key_advice(pem, path)) {
    return unusable(*advice, path);
  }
  if (!file->guarded && !is_encrypted_pem(pem)) {
    return about_file(file->guarded.error());
  }
  auto signer = parse_private_key(pem, passphrase);
  if (!signer && signer.error().where.empty()) {
    return fail(signer.error().code, signer.error().detail, path);
  }
  return signer;
}

Status save_private_key(const Signer& signer, const std::string& path,
                        const SecretBytes& passphrase) {
  ASSAY_ASSIGN(const SecretBytes pem, encode_private_key(signer, passphrase));
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         S_IRUSR | S_IWUSR));
  if (!file) {
    return errno == EEXIST
               ? fail(ErrorCode::kConflict, "the key file exists; keys are never overwritten")
               : unusable("the key file cannot be created", path);
  }
  const bool written = write_all(file.get(), pem.view()) && ::fsync(file.get()) == 0;
  if (!file.close() || !written || !sync_folder_of(path)) {
    ::unlink(path.c_str());
    return unusable("the key file cannot be written", path);
  }
  return {};
}

}  // namespace assay::attestation
