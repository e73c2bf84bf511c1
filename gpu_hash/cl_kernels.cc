// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cl_kernels.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "embedded/gpu_hash_kernels.h"
#include "schemas/core/sha.h"

namespace assay::gpu_hash {
namespace {

constexpr const char* kBuildOptions = "-cl-std=CL1.2";
// Divides what every device and the tables' sizes like; small, because a launch has few chunks.
constexpr std::size_t kGroupSize = 64;
constexpr std::size_t kMaxLog = 4000;  // characters of a compiler's log in an error

std::string_view hash_source(HashAlgorithm algorithm) {
  return algorithm == HashAlgorithm::kSha256 ? embedded::kSha256Cl : embedded::kSha384Cl;
}

std::string build_log(const ClSession& session, cl_program program) {
  std::size_t size = 0;
  const cl_device_id device = session.device().device;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) !=
      CL_SUCCESS) {
    return {};
  }
  std::string log(size, '\0');
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr) !=
      CL_SUCCESS) {
    return {};
  }
  log.resize(std::min(std::min(log.find('\0'), size), kMaxLog));
  return log;
}

Status compile(const ClSession& session, cl_program program) {
  const cl_device_id device = session.device().device;
  const cl_int result = clBuildProgram(program, 1, &device, kBuildOptions, nullptr, nullptr);
  if (result != CL_SUCCESS) {
    auto failure = cl_failure(session.name(), "clBuildProgram", result);
    Error error = std::move(failure).error();
    error.detail += ": " + build_log(session, program);
    return std::unexpected(std::move(error));
  }
  return {};
}

// Nothing when the driver does not take the binary.
std::optional<ClProgram> from_binary(const ClSession& session, ByteView binary) {
  const cl_device_id device = session.device().device;
  const std::size_t size = binary.size();
  const unsigned char* data = binary.data();
  cl_int status = CL_SUCCESS;
  cl_int error = CL_SUCCESS;
  ClProgram program(
      clCreateProgramWithBinary(session.context(), 1, &device, &size, &data, &status, &error));
  if (error != CL_SUCCESS || status != CL_SUCCESS || !compile(session, program.get())) {
    return std::nullopt;
  }
  return program;
}

Bytes binary_of(cl_program program) {
  std::size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) !=
          CL_SUCCESS ||
      size == 0) {
    return {};
  }
  Bytes binary(size);
  unsigned char* data = binary.data();
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data), static_cast<void*>(&data),
                       nullptr) != CL_SUCCESS) {
    return {};
  }
  return binary;
}

Result<ClKernel> make_kernel(const ClSession& session, cl_program program, const char* name) {
  cl_int error = CL_SUCCESS;
  ClKernel kernel(clCreateKernel(program, name, &error));
  ASSAY_TRY(session.check("clCreateKernel", error));
  return kernel;
}

// Sets the arguments in order and enqueues `items` work-items.
template <typename... Args>
Status enqueue(const ClSession& session, cl_command_queue queue, ClEvents& events, cl_kernel kernel,
               std::size_t items, const Args&... args) {
  cl_uint index = 0;
  cl_int result = CL_SUCCESS;
  const auto set = [&](const auto& value) {
    if (result == CL_SUCCESS) {
      result = clSetKernelArg(kernel, index++, sizeof(value), static_cast<const void*>(&value));
    }
  };
  (set(args), ...);
  ASSAY_TRY(session.check("clSetKernelArg", result));
  const std::size_t global = (items + kGroupSize - 1) / kGroupSize * kGroupSize;
  cl_event event = nullptr;
  ASSAY_TRY(session.check(
      "clEnqueueNDRangeKernel",
      clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, &kGroupSize, 0, nullptr, &event)));
  events.add(event);
  return {};
}

}  // namespace

Digest kernel_digest() {
  return sha(HashAlgorithm::kSha256, {as_bytes(embedded::kSha256Cl), as_bytes(embedded::kSha384Cl),
                                      as_bytes(embedded::kTreeCl)});
}

std::string kernel_cache_key(const ClSession& session, HashAlgorithm algorithm) {
  return session.device().identity + kBuildOptions + "\n" + std::string(name(algorithm)) + "\n" +
         kernel_digest().hex();
}

Result<ClKernels> ClKernels::load(const ClSession& session, HashAlgorithm algorithm,
                                  const KernelCache& cache) {
  if (const auto binary = cache.load(kernel_cache_key(session, algorithm))) {
    if (auto program = from_binary(session, *binary)) {
      auto kernels = create(session, algorithm, std::move(*program), true);
      if (kernels) {
        return kernels;
      }
    }
  }
  return build(session, algorithm, cache);
}

Result<ClKernels> ClKernels::build(const ClSession& session, HashAlgorithm algorithm,
                                   const KernelCache& cache) {
  const std::array<std::string_view, 2> sources = {hash_source(algorithm), embedded::kTreeCl};
  std::array<const char*, 2> texts = {sources[0].data(), sources[1].data()};
  const std::array<std::size_t, 2> sizes = {sources[0].size(), sources[1].size()};
  cl_int error = CL_SUCCESS;
  ClProgram program(clCreateProgramWithSource(session.context(), texts.size(), texts.data(),
                                              sizes.data(), &error));
  ASSAY_TRY(session.check("clCreateProgramWithSource", error));
  ASSAY_TRY(compile(session, program.get()));
  const Bytes binary = binary_of(program.get());
  ASSAY_ASSIGN(ClKernels kernels, create(session, algorithm, std::move(program), false));
  cache.store(kernel_cache_key(session, algorithm), binary);
  return kernels;
}

Result<ClKernels> ClKernels::create(const ClSession& session, HashAlgorithm algorithm,
                                    ClProgram program, bool from_cache) {
  ClKernels kernels(algorithm, std::move(program), from_cache);
  const cl_program built = kernels.program_.get();
  ASSAY_ASSIGN(kernels.leaves_, make_kernel(session, built, "hash_leaves"));
  ASSAY_ASSIGN(kernels.nodes_, make_kernel(session, built, "hash_nodes"));
  ASSAY_ASSIGN(kernels.gather_, make_kernel(session, built, "gather_roots"));
  return kernels;
}

Status ClKernels::leaves(const ClSession& session, cl_command_queue queue, const ClLaunch& launch,
                         ClEvents& events) const {
  return enqueue(session, queue, events, leaves_.get(), launch.slots, launch.data, launch.extents,
                 launch.first_slot, launch.segments, launch.slots, launch.chunk_size,
                 launch.digests);
}

Status ClKernels::nodes(const ClSession& session, cl_command_queue queue, const ClLaunch& launch,
                        std::uint32_t table_begin, std::uint32_t pairs, std::uint32_t level,
                        ClEvents& events) const {
  return enqueue(session, queue, events, nodes_.get(), pairs, launch.digests, launch.first_slot,
                 launch.first_pair, table_begin, launch.segments, pairs, level);
}

Status ClKernels::gather(const ClSession& session, cl_command_queue queue, const ClLaunch& launch,
                         ClEvents& events) const {
  return enqueue(session, queue, events, gather_.get(), launch.segments, launch.digests,
                 launch.first_slot, launch.segments, launch.roots);
}

}  // namespace assay::gpu_hash
