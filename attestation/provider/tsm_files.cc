// SPDX-License-Identifier: Apache-2.0
// System calls of the configfs-tsm provider.
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attestation/provider/configfs_tsm.h"
#include "schemas/posix/files.h"

namespace assay::attestation {
namespace {

class SystemFiles final : public TsmFiles {
 public:
  std::expected<void, int> make_folder(const std::string& path) override {
    return done(::mkdir(path.c_str(), S_IRWXU));
  }

  std::expected<void, int> remove_folder(const std::string& path) override {
    return done(::rmdir(path.c_str()));
  }

  // The kernel takes the blob as a whole, so a part of it is a failure.
  std::expected<void, int> write(const std::string& path, ByteView bytes) override {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) {
      return std::unexpected(errno);
    }
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0) {
      return std::unexpected(errno);
    }
    if (static_cast<std::size_t>(written) != bytes.size()) {
      return std::unexpected(EIO);
    }
    return file.close() ? std::expected<void, int>() : std::unexpected(errno);
  }

  std::expected<Bytes, int> read(const std::string& path, std::size_t limit) override {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file) {
      return std::unexpected(errno);
    }
    Bytes bytes(limit);
    const std::int64_t size = read_up_to(file.get(), bytes);
    if (size < 0) {
      return std::unexpected(errno);
    }
    bytes.resize(static_cast<std::size_t>(size));
    return bytes;
  }

 private:
  static std::expected<void, int> done(int status) {
    if (status != 0) {
      return std::unexpected(errno);
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<TsmFiles> system_tsm_files() { return std::make_unique<SystemFiles>(); }

}  // namespace assay::attestation
