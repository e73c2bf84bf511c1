// SPDX-License-Identifier: Apache-2.0
// Programs and kernels of OpenCL, built from source or taken from the cache.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "gpu_hash/opencl/device.h"
#include "gpu_hash/opencl/handles.h"
#include "gpu_hash/opencl/kernel_cache.h"
#include "schemas/core/digest.h"

namespace assay::gpu_hash {

// Returns the SHA-256 over the source of all kernels.
[[nodiscard]] Digest kernel_digest();

struct ProgramSource {
  std::vector<std::string_view> texts;  // compiled as one text, in this order
  std::string options;                  // build options
};

// Returns the cache key of a program. The key covers device, driver, options and source.
[[nodiscard]] std::string program_cache_key(const ClSession& session, const ProgramSource& source);

struct LoadedProgram {
  ClProgram program;
  bool from_cache;
};

// Takes the program from the cache or builds it. Errors: device-failed with the compiler's log.
[[nodiscard]] Result<LoadedProgram> load_program(const ClSession& session,
                                                 const ProgramSource& source,
                                                 const KernelCache& cache);
// Builds the program from source and replaces the cached program.
[[nodiscard]] Result<LoadedProgram> build_program(const ClSession& session,
                                                  const ProgramSource& source,
                                                  const KernelCache& cache);

[[nodiscard]] Result<ClKernel> make_kernel(const ClSession& session, cl_program program,
                                           const char* name);

// Sets a kernel's arguments in order.
class KernelArguments {
 public:
  explicit KernelArguments(cl_kernel kernel) : kernel_(kernel) {}

  template <typename T>
  KernelArguments& add(const T& value) {
    if (result_ == CL_SUCCESS) {
      // NOLINTNEXTLINE(bugprone-sizeof-expression): OpenCL takes handles as the pointers they are
      result_ = clSetKernelArg(kernel_, index_++, sizeof(T), static_cast<const void*>(&value));
    }
    return *this;
  }
  [[nodiscard]] cl_int result() const { return result_; }

 private:
  cl_kernel kernel_;
  cl_uint index_ = 0;
  cl_int result_ = CL_SUCCESS;
};

// Enqueues at least `items` work-items in groups of `group`.
[[nodiscard]] Status enqueue(const ClSession& session, cl_command_queue queue, ClEvents& events,
                             cl_kernel kernel, const KernelArguments& arguments, std::size_t items,
                             std::size_t group);

}  // namespace assay::gpu_hash
