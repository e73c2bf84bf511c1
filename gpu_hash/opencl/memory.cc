// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/memory.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

#include "gpu_hash/exported.h"

namespace assay::gpu_hash {
namespace {

// OpenCL 3.0 and cl_khr_external_memory, which older headers and loaders do not have.
using Properties = cl_ulong;
constexpr Properties kOpaqueFd = 0x2060;  // CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR
using CreateBuffer = cl_mem (*)(cl_context, const Properties*, cl_mem_flags, std::size_t, void*,
                                cl_int*);
using EnqueueObjects = cl_int (*)(cl_command_queue, cl_uint, const cl_mem*, cl_uint,
                                  const cl_event*, cl_event*);

std::unexpected<Error> refused(const std::string& device, const std::string& why) {
  return fail(ErrorCode::kInvalidParameter, device + ": " + why);
}

Status check_exported(const ClSession& session, const Descriptor& fd) {
  const Result<FileKind> kind = kind_of(fd);
  return kind && is_device_memory(*kind, session.device().vendor)
             ? Status()
             : refused(session.name(), "the descriptor is not one that the driver exported");
}

// A descriptor of host memory that cannot shrink: a sealed memory file. Reading a mapping that has
// shrunk would end the process.
Result<Mapping> map_host(const ClSession& session, const Descriptor& fd, std::uint64_t size) {
  struct stat status{};
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(fd.get(), &status) != 0) {
    return refused(session.name(),
                   "the device imports only sealed memory files, and this is not one");
  }
  if (size == 0 || size > static_cast<std::uint64_t>(status.st_size)) {
    return refused(session.name(), "memory to import is larger than its file");
  }
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) {
    return fail(ErrorCode::kDeviceFailed, session.name() + ": memory cannot be mapped");
  }
  return Mapping(memory, size);
}

}  // namespace

Mapping::~Mapping() {
  if (memory_ != nullptr) {
    ::munmap(memory_, size_);
  }
}

Result<std::shared_ptr<ClMemory>> ClMemory::allocate(const ClSession& session, std::uint64_t size) {
  if (size == 0) {
    return refused(session.name(), "memory of no bytes");
  }
  ASSAY_ASSIGN(ClBuffer buffer, session.make_buffer(CL_MEM_READ_WRITE, size));
  return std::shared_ptr<ClMemory>(
      new ClMemory(session.context(), std::move(buffer), size, false, Mapping()));
}

Result<std::shared_ptr<ClMemory>> ClMemory::import(const ClSession& session, Descriptor fd,
                                                   std::uint64_t size) {
  if (!fd || size == 0) {
    return refused(session.name(), "memory to import has no descriptor or no bytes");
  }
  cl_int error = CL_SUCCESS;
  if (session.device().imports_fds) {
    ASSAY_TRY(check_exported(session, fd));
    const auto create =
        reinterpret_cast<CreateBuffer>(::dlsym(RTLD_DEFAULT, "clCreateBufferWithProperties"));
    if (create == nullptr) {
      return refused(session.name(), "the OpenCL loader is too old to import memory");
    }
    const std::array<Properties, 3> properties = {kOpaqueFd, static_cast<Properties>(fd.get()), 0};
    ClBuffer buffer(
        create(session.context(), properties.data(), CL_MEM_READ_ONLY, size, nullptr, &error));
    ASSAY_TRY(session.check("clCreateBufferWithProperties", error));
    // cl_khr_external_memory_opaque_fd: an import that succeeds takes the descriptor over. NVIDIA's
    // driver (580) keeps it open and closes its number when the memory is released. Closing it here
    // would let the driver close whatever has that number by then, such as a connection.
    (void)fd.release();
    return std::shared_ptr<ClMemory>(
        new ClMemory(session.context(), std::move(buffer), size, true, Mapping()));
  }
  if (session.device().info.type != "cpu") {
    return refused(session.name(), "the driver does not import memory of other processes");
  }
  ASSAY_ASSIGN(Mapping mapping, map_host(session, fd, size));
  ClBuffer buffer(clCreateBuffer(session.context(), CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, size,
                                 mapping.get(), &error));
  ASSAY_TRY(session.check("clCreateBuffer", error));
  return std::shared_ptr<ClMemory>(
      new ClMemory(session.context(), std::move(buffer), size, false, std::move(mapping)));
}

Status hand_over(const ClSession& session, cl_command_queue queue, Handover what,
                 std::span<const cl_mem> memory, ClEvents& events) {
  if (memory.empty()) {
    return {};
  }
  const char* call = what == Handover::kAcquire ? "clEnqueueAcquireExternalMemObjectsKHR"
                                                : "clEnqueueReleaseExternalMemObjectsKHR";
  const auto enqueue = reinterpret_cast<EnqueueObjects>(
      clGetExtensionFunctionAddressForPlatform(session.device().platform, call));
  if (enqueue == nullptr) {
    return fail(ErrorCode::kDeviceFailed, session.name() + ": the driver has no " + call);
  }
  cl_event event = nullptr;
  ASSAY_TRY(session.check(call, enqueue(queue, static_cast<cl_uint>(memory.size()), memory.data(),
                                        0, nullptr, &event)));
  events.add(event);
  return {};
}

}  // namespace assay::gpu_hash
