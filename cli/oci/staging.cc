// SPDX-License-Identifier: Apache-2.0
#include "cli/oci/staging.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include "schemas/posix/files.h"

namespace assay::oci {
namespace {

std::unexpected<Error> cannot(const std::string& what, const std::string& path) {
  return fail(errno == EEXIST || errno == ENOTDIR || errno == ELOOP ? ErrorCode::kInvalidPath
                                                                    : ErrorCode::kFileUnreadable,
              what + ": " + std::strerror(errno), path);
}

bool is_free(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return true;
  }
  return status.type() == std::filesystem::file_type::directory &&
         std::filesystem::is_empty(path, error) && !error;
}

}  // namespace

Staging::Staging(std::string path, std::string temporary, Descriptor directory)
    : path_(std::move(path)), temporary_(std::move(temporary)), directory_(std::move(directory)) {}

Staging::Staging(Staging&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      directory_(std::move(other.directory_)) {}

Staging::~Staging() {
  if (!temporary_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(temporary_, ignored);
  }
}

Result<Staging> Staging::open(const std::string& given) {
  std::string path = given;
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  if (!is_free(path)) {
    return fail(ErrorCode::kConflict,
                "There is something already; choose a directory that is empty or not there", path);
  }
  std::string temporary = path + ".XXXXXX";
  if (::mkdtemp(temporary.data()) == nullptr) {
    return cannot("The directory cannot be made", path);
  }
  Descriptor directory(::open(temporary.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) {
    const int why = errno;
    ::rmdir(temporary.c_str());
    errno = why;
    return cannot("The directory cannot be opened", path);
  }
  return Staging(std::move(path), std::move(temporary), std::move(directory));
}

Status Staging::write(const std::string& path, ByteView bytes) {
  ASSAY_ASSIGN(Descriptor file, create_below(directory_.get(), path));
  return write_all(file.get(), bytes) && file.close() ? Status()
                                                      : cannot("The file cannot be written", path);
}

Result<Descriptor> Staging::scratch() const {
  std::string name = temporary_ + "/.blob-XXXXXX";
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file || ::unlink(name.c_str()) != 0) {
    return cannot("A temporary file cannot be made", path_);
  }
  return file;
}

Status Staging::commit() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(directory_.get(), 0777 & ~mask) != 0 || ::syncfs(directory_.get()) != 0) {
    return cannot("The directory cannot be written", path_);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return errno == ENOTEMPTY || errno == EEXIST
               ? fail(ErrorCode::kConflict, "Something is there by now", path_)
               : cannot("The directory cannot be put in its place", path_);
  }
  temporary_.clear();
  return sync_folder_of(path_) ? Status() : cannot("The directory cannot be written", path_);
}

Result<Descriptor> make_directories(int base, const std::string& path) {
  Descriptor at(::openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::size_t begin = 0;
  while (at && begin < path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (::mkdirat(at.get(), part.c_str(), 0777) != 0 && errno != EEXIST) {
      return cannot("The directory cannot be made", path);
    }
    at = Descriptor(
        ::openat(at.get(), part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    begin = end + 1;
  }
  return at ? Result<Descriptor>(std::move(at)) : cannot("The directory cannot be opened", path);
}

Result<Descriptor> create_below(int base, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  ASSAY_ASSIGN(const Descriptor folder,
               make_directories(base, slash == std::string::npos ? "" : path.substr(0, slash)));
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  Descriptor file(::openat(folder.get(), name.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  return file ? Result<Descriptor>(std::move(file)) : cannot("The file cannot be made", path);
}

}  // namespace assay::oci
