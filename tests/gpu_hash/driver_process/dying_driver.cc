// SPDX-License-Identifier: Apache-2.0
// A driver for the OpenCL loader that has no platform: when the loader asks for one, it ends the
// process (DYING_DRIVER=abort) or does not answer (DYING_DRIVER=hang). First it makes the file that
// DYING_DRIVER_MARK names.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unistd.h>

#include <CL/cl.h>

#define ASSAY_DRIVER_API extern "C" __attribute__((visibility("default")))

namespace {

cl_int CL_API_CALL get_platforms(cl_uint, cl_platform_id*, cl_uint*) {
  if (const char* const mark = std::getenv("DYING_DRIVER_MARK"); mark != nullptr) {
    if (std::FILE* const file = std::fopen(mark, "w"); file != nullptr) {
      std::fclose(file);
    }
  }
  const char* const way = std::getenv("DYING_DRIVER");
  const std::string_view how = way == nullptr ? "" : way;
  if (how == "abort") {
    std::fputs("first line\ndying driver: \x1b[31massertion failed\n", stderr);
    std::abort();
  }
  while (how == "hang") {
    ::pause();
  }
  return -1001;  // CL_PLATFORM_NOT_FOUND_KHR
}

}  // namespace

ASSAY_DRIVER_API void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  return std::strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? reinterpret_cast<void*>(&get_platforms)
                                                          : nullptr;
}
ASSAY_DRIVER_API cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id, cl_platform_info, std::size_t,
                                                      void*, std::size_t*) {
  return CL_INVALID_PLATFORM;
}
ASSAY_DRIVER_API cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint entries,
                                                           cl_platform_id* platforms,
                                                           cl_uint* count) {
  return get_platforms(entries, platforms, count);
}
