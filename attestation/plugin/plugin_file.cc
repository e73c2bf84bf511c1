// SPDX-License-Identifier: Apache-2.0
#include "attestation/plugin/plugin_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

#include "attestation/plugin/wire.h"
#include "schemas/core/sha.h"
#include "schemas/posix/files.h"
#include "schemas/posix/memory_file.h"

namespace assay::attestation::plugin {
namespace {

std::unexpected<Error> unusable(std::string why, const std::string& path) {
  return fail(ErrorCode::kPluginUnusable, std::move(why), path);
}

struct Opened {
  Descriptor file;
  std::size_t size;
};

Result<Opened> open_regular(const std::string& path) {
  // Not blocking: opening a pipe must not wait for a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat facts{};
  if (!file) {
    return unusable(errno == ELOOP ? "the plug-in is a symbolic link; name the file itself"
                                   : "the plug-in cannot be opened",
                    path);
  }
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return unusable(S_ISDIR(facts.st_mode) ? "the plug-in is a directory, not a file"
                                           : "the plug-in is no regular file",
                    path);
  }
  if (facts.st_size <= 0 || static_cast<std::uint64_t>(facts.st_size) > kMaxPluginBytes) {
    return unusable("a plug-in has 1 byte to 64 MiB", path);
  }
  return Opened{std::move(file), static_cast<std::size_t>(facts.st_size)};
}

}  // namespace

Result<PluginFile> read_plugin(const std::string& path) {
  ASSAY_ASSIGN(const Opened opened, open_regular(path));
  // One byte more than there is, to see that the file does not grow meanwhile.
  Bytes bytes(opened.size + 1);
  if (read_up_to(opened.file.get(), bytes) != static_cast<std::int64_t>(opened.size)) {
    return unusable("the plug-in cannot be read, or changes while it is read", path);
  }
  bytes.resize(opened.size);
  ASSAY_ASSIGN(Descriptor memory, sealed_memory("assay-plugin", {bytes}, Executable::kYes));
  return PluginFile{std::move(memory), assay::sha256(bytes)};
}

Result<PluginFile> read_pinned_plugin(const std::string& path, const Digest& pin) {
  ASSAY_ASSIGN(PluginFile file, read_plugin(path));
  if (file.sha256 != pin) {
    return unusable("the plug-in has the SHA-256 " + file.sha256.hex() + ", and " + pin.hex() +
                        " is configured",
                    path);
  }
  return file;
}

}  // namespace assay::attestation::plugin
