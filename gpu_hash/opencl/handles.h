// SPDX-License-Identifier: Apache-2.0
// Owners of OpenCL objects. The only header that includes OpenCL's.
#pragma once

#include <memory>
#include <type_traits>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

namespace assay::gpu_hash {

template <auto Release>
struct ClRelease {
  template <typename T>
  void operator()(T* handle) const {
    Release(handle);
  }
};

template <typename Handle, auto Release>
using ClOwner = std::unique_ptr<std::remove_pointer_t<Handle>, ClRelease<Release>>;

using ClContext = ClOwner<cl_context, clReleaseContext>;
using ClQueue = ClOwner<cl_command_queue, clReleaseCommandQueue>;
using ClProgram = ClOwner<cl_program, clReleaseProgram>;
using ClKernel = ClOwner<cl_kernel, clReleaseKernel>;
using ClBuffer = ClOwner<cl_mem, clReleaseMemObject>;
using ClEvent = ClOwner<cl_event, clReleaseEvent>;

}  // namespace assay::gpu_hash
