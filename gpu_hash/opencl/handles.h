// SPDX-License-Identifier: Apache-2.0
// Owners of OpenCL objects. No other header includes the headers of OpenCL.
#pragma once

#include <type_traits>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include "schemas/core/handle.h"

namespace assay::gpu_hash {

// OpenCL's handle types are pointers.
template <typename Pointer, auto Release>
using ClOwner = Handle<std::remove_pointer_t<Pointer>, Release>;

using ClContext = ClOwner<cl_context, clReleaseContext>;
using ClQueue = ClOwner<cl_command_queue, clReleaseCommandQueue>;
using ClProgram = ClOwner<cl_program, clReleaseProgram>;
using ClKernel = ClOwner<cl_kernel, clReleaseKernel>;
using ClBuffer = ClOwner<cl_mem, clReleaseMemObject>;
using ClEvent = ClOwner<cl_event, clReleaseEvent>;

}  // namespace assay::gpu_hash
