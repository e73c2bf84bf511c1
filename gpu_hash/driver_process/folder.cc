// SPDX-License-Identifier: Apache-2.0
// Which folder drivers are told to keep their code in, and what it must be like.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "gpu_hash/driver_folder.h"

namespace assay::gpu_hash {
namespace {

namespace fs = std::filesystem;

// Nobody makes folders there.
constexpr const char* kNowhere = "/proc/no-folder-of-drivers";

fs::path folder_in(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_ours(const struct stat& status) {
  return status.st_uid == ::geteuid() || status.st_uid == 0;
}

// True for a directory of ours in which nobody else can replace what is ours. With the sticky bit
// others can still add to it, so the last folder must do without.
bool is_guarded(const struct stat& status) {
  return S_ISDIR(status.st_mode) && is_ours(status) &&
         ((status.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (status.st_mode & S_ISVTX) != 0);
}

// `below` in `base`, made where it is missing; empty when somebody else could put files there.
fs::path guarded(const fs::path& base, const fs::path& below) {
  struct stat status{};
  if (!base.is_absolute() || ::stat(base.c_str(), &status) != 0 || !is_guarded(status)) {
    return {};
  }
  fs::path path = base;
  for (const fs::path& name : below) {
    path /= name;
    (void)::mkdir(path.c_str(), S_IRWXU);
    if (::lstat(path.c_str(), &status) != 0 || !is_guarded(status)) {
      return {};
    }
  }
  const bool alone =
      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 && ::access(path.c_str(), W_OK) == 0;
  return alone ? path : fs::path();
}

fs::path driver_folder() {
  if (const fs::path cache = folder_in("XDG_CACHE_HOME"); cache.is_absolute()) {
    std::error_code ignored;
    fs::create_directories(cache, ignored);
    return guarded(cache, "assay/drivers");
  }
  return guarded(folder_in("HOME"), ".cache/assay/drivers");
}

}  // namespace

void use_driver_folder() {
  const fs::path folder = driver_folder();
  // PoCL, NVIDIA, Intel and Mesa. What is set was chosen.
  for (const char* const name :
       {"POCL_CACHE_DIR", "CUDA_CACHE_PATH", "NEO_CACHE_DIR", "MESA_SHADER_CACHE_DIR"}) {
    (void)::setenv(name, folder.empty() ? kNowhere : folder.c_str(), 0);
  }
}

}  // namespace assay::gpu_hash
