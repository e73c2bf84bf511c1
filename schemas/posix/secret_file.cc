// SPDX-License-Identifier: Apache-2.0
#include "schemas/posix/secret_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "schemas/posix/files.h"

namespace assay {
namespace {

bool is_group_of_process(gid_t group) {
  if (group == ::getegid()) {
    return true;
  }
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  const int got = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(got, 0)));
  return std::ranges::find(groups, group) != groups.end();
}

bool root_gave_it_to_group(const struct stat& status) {
  const bool own_group = ::geteuid() == 0 && status.st_gid == 0;
  return status.st_uid == 0 && !own_group && (status.st_mode & (S_IWGRP | S_IXGRP)) == 0 &&
         is_group_of_process(status.st_gid);
}

Status check_guard(const struct stat& status, const std::string& path) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return fail(ErrorCode::kKeyUnusable,
                "the file with the secret belongs to another user; run chown on it", path);
  }
  const bool by_group = (status.st_mode & S_IRWXG) != 0 && !root_gave_it_to_group(status);
  if (by_group || (status.st_mode & S_IRWXO) != 0) {
    return fail(ErrorCode::kKeyUnusable,
                "others may access the file with the secret; run chmod 600 on it (in a volume of "
                "Kubernetes: defaultMode 0400)",
                path);
  }
  return {};
}

std::unexpected<Error> unreadable(const std::string& path) {
  return fail(ErrorCode::kFileUnreadable,
              std::string("the file with the secret cannot be read: ") + std::strerror(errno),
              path);
}

}  // namespace

Result<SecretFile> read_secret(const std::string& path, std::size_t limit) {
  // O_NONBLOCK: a pipe in place of the file must not hold us up before fstat sees it.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return unreadable(path);
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kKeyUnusable, "a secret must be in a regular file", path);
  }
  Bytes buffer(limit + 1);
  const std::int64_t size = read_up_to(file.get(), buffer);
  if (size < 0) {
    return unreadable(path);
  }
  const bool fits = static_cast<std::size_t>(size) <= limit;
  SecretBytes content(Bytes(buffer.begin(), buffer.begin() + size));
  secure_wipe(buffer);
  if (!fits) {
    return fail(ErrorCode::kLimitExceeded,
                "the file with the secret has more than " + std::to_string(limit) + " bytes", path);
  }
  return SecretFile{std::move(content), check_guard(status, path)};
}

Result<SecretBytes> read_guarded(const std::string& path, std::size_t limit) {
  ASSAY_ASSIGN(SecretFile file, read_secret(path, limit));
  ASSAY_TRY(file.guarded);
  return std::move(file.content);
}

}  // namespace assay
