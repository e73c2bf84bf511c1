// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/program.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "embedded/gpu_hash_kernels.h"
#include "schemas/core/sha.h"

namespace assay::gpu_hash {
namespace {

constexpr std::size_t kMaxLog = 4000;  // characters of a compiler's log in an error

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

Status compile(const ClSession& session, cl_program program, const std::string& options) {
  const cl_device_id device = session.device().device;
  const cl_int result = clBuildProgram(program, 1, &device, options.c_str(), nullptr, nullptr);
  if (result != CL_SUCCESS) {
    auto failure = cl_failure(session.name(), "clBuildProgram", result);
    Error error = std::move(failure).error();
    error.detail += ": " + build_log(session, program);
    return std::unexpected(std::move(error));
  }
  return {};
}

// Nothing when the driver does not take the binary.
std::optional<ClProgram> from_binary(const ClSession& session, ByteView binary,
                                     const std::string& options) {
  const cl_device_id device = session.device().device;
  const std::size_t size = binary.size();
  const unsigned char* data = binary.data();
  cl_int status = CL_SUCCESS;
  cl_int error = CL_SUCCESS;
  ClProgram program(
      clCreateProgramWithBinary(session.context(), 1, &device, &size, &data, &status, &error));
  if (error != CL_SUCCESS || status != CL_SUCCESS || !compile(session, program.get(), options)) {
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

}  // namespace

Digest kernel_digest() {
  return sha(HashAlgorithm::kSha256, {as_bytes(embedded::kBuffersCl), as_bytes(embedded::kTagsCl),
                                      as_bytes(embedded::kSha256Cl), as_bytes(embedded::kSha384Cl),
                                      as_bytes(embedded::kTreeCl), as_bytes(embedded::kTagPassCl),
                                      as_bytes(embedded::kMovesCl)});
}

std::string program_cache_key(const ClSession& session, const ProgramSource& source) {
  Bytes all;
  for (const std::string_view text : source.texts) {
    const ByteView bytes = as_bytes(text);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return session.device().identity + source.options + "\n" + sha(HashAlgorithm::kSha256, all).hex();
}

Result<LoadedProgram> load_program(const ClSession& session, const ProgramSource& source,
                                   const KernelCache& cache) {
  if (const auto binary = cache.load(program_cache_key(session, source))) {
    if (auto program = from_binary(session, *binary, source.options)) {
      return LoadedProgram{std::move(*program), true};
    }
  }
  return build_program(session, source, cache);
}

Result<LoadedProgram> build_program(const ClSession& session, const ProgramSource& source,
                                    const KernelCache& cache) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string_view text : source.texts) {
    texts.push_back(text.data());
    sizes.push_back(text.size());
  }
  cl_int error = CL_SUCCESS;
  ClProgram program(clCreateProgramWithSource(session.context(), static_cast<cl_uint>(texts.size()),
                                              texts.data(), sizes.data(), &error));
  ASSAY_TRY(session.check("clCreateProgramWithSource", error));
  ASSAY_TRY(compile(session, program.get(), source.options));
  cache.store(program_cache_key(session, source), binary_of(program.get()));
  return LoadedProgram{std::move(program), false};
}

Result<ClKernel> make_kernel(const ClSession& session, cl_program program, const char* name) {
  cl_int error = CL_SUCCESS;
  ClKernel kernel(clCreateKernel(program, name, &error));
  ASSAY_TRY(session.check("clCreateKernel", error));
  return kernel;
}

Status enqueue(const ClSession& session, cl_command_queue queue, ClEvents& events, cl_kernel kernel,
               const KernelArguments& arguments, std::size_t items, std::size_t group) {
  ASSAY_TRY(session.check("clSetKernelArg", arguments.result()));
  const std::size_t global = (items + group - 1) / group * group;
  cl_event event = nullptr;
  ASSAY_TRY(session.check(
      "clEnqueueNDRangeKernel",
      clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &global, &group, 0, nullptr, &event)));
  events.add(event);
  return {};
}

}  // namespace assay::gpu_hash
