// SPDX-License-Identifier: Apache-2.0
// Owns device memory through the CUDA driver library, which is opened at run time, and shares it
// over a Unix socket (bench/gpu_hash/owner_channel.h) until the other side hangs up.
//
// Usage: cuda_owner SOCKET PIECES BYTES_PER_PIECE       bytes: a multiple of 2 MiB
//
// All pieces together are one object: 64-bit word j of piece i is splitmix64(j), but for word 0,
// which is i.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <vector>

#include "bench/gpu_hash/owner_channel.h"
#include "bench/gpu_hash/owner_pattern.h"

namespace {

using namespace assay::gpu_hash;

// The parts of cuda.h that are used here.
struct Location {
  int type;
  int id;
};
struct AllocationProperties {
  int type = 1;             // CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 1;     // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
  Location location{1, 0};  // CU_MEM_LOCATION_TYPE_DEVICE
  void* win32 = nullptr;
  struct {
    unsigned char compression = 0, rdma = 0;
    unsigned short usage = 0;
    unsigned char reserved[4] = {};
  } flags;
};
struct Access {
  Location location{1, 0};
  int flags = 3;  // read and write
};

void* library = nullptr;

template <typename... Args>
void call(const char* name, Args... args) {
  auto* function = reinterpret_cast<int (*)(Args...)>(::dlsym(library, name));
  const int result = function == nullptr ? -1 : function(args...);
  if (result != 0) {
    std::fprintf(stderr, "cuda_owner: %s failed with %d\n", name, result);
    std::exit(2);
  }
}

}  // namespace

// long-function: one sequence of driver calls
int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: cuda_owner SOCKET PIECES BYTES_PER_PIECE\n");
    return 2;
  }
  library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "cuda_owner: there is no libcuda.so.1\n");
    return 77;
  }
  const std::uint64_t pieces = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t size = std::strtoull(argv[3], nullptr, 10);
  void* context = nullptr;
  call("cuInit", 0U);
  call("cuDevicePrimaryCtxRetain", &context, 0);
  call("cuCtxSetCurrent", context);
  std::vector<std::uint64_t> block = owner_pattern(size);
  SharedMemory memory;
  std::vector<SharedPart> object;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const AllocationProperties properties;
    const Access access;
    unsigned long long handle = 0;
    unsigned long long address = 0;
    int fd = -1;
    call("cuMemCreate", &handle, static_cast<std::size_t>(size), &properties, 0ULL);
    call("cuMemAddressReserve", &address, static_cast<std::size_t>(size), std::size_t{0}, 0ULL,
         0ULL);
    call("cuMemMap", address, static_cast<std::size_t>(size), std::size_t{0}, handle, 0ULL);
    call("cuMemSetAccess", address, static_cast<std::size_t>(size), &access, std::size_t{1});
    block[0] = i;
    call("cuMemcpyHtoD_v2", address, static_cast<const void*>(block.data()),
         static_cast<std::size_t>(size));
    call("cuMemExportToShareableHandle", static_cast<void*>(&fd), handle, 1, 0ULL);
    memory.pieces.push_back({assay::Descriptor(fd), size});
    object.push_back({i, 0, size});
  }
  call("cuCtxSynchronize");
  memory.objects.push_back(std::move(object));

  const assay::Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, argv[1], sizeof(address.sun_path) - 1);
  ::unlink(argv[1]);
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener.get(), 1) != 0) {
    std::perror("cuda_owner");
    return 2;
  }
  std::printf("cuda_owner: %llu pieces of %llu bytes are ready\n",
              static_cast<unsigned long long>(pieces), static_cast<unsigned long long>(size));
  std::fflush(stdout);
  const assay::Descriptor peer(::accept(listener.get(), nullptr, nullptr));
  if (!send_memory(peer.get(), memory)) {
    return 2;
  }
  memory = {};  // the other side has its own descriptors now
  char byte = 0;
  (void)!::recv(peer.get(), &byte, 1, 0);
  return 0;
}
