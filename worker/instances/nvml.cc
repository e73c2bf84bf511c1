// SPDX-License-Identifier: Apache-2.0
// NVML API Reference Guide, "Device Queries"; the names and layouts are those of its version 12.
#include "worker/instances/nvml.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <limits>
#include <utility>

namespace assay::worker {

namespace {

// The documented binary interface, as far as it is used here.
using NvmlReturn = int;  // nvmlReturn_t
constexpr NvmlReturn kSuccess = 0;
constexpr NvmlReturn kInsufficientSize = 7;
using NvmlDevice = void*;  // nvmlDevice_t
struct NvmlProcess {       // nvmlProcessInfo_t of the functions whose names end in _v3
  unsigned pid;
  unsigned long long used_gpu_memory;  // bytes
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};
static_assert(sizeof(NvmlProcess) == 24 && offsetof(NvmlProcess, used_gpu_memory) == 8 &&
              offsetof(NvmlProcess, gpu_instance_id) == 16);
constexpr auto kNotAvailable = std::numeric_limits<unsigned long long>::max();
constexpr std::size_t kUuidBytes = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE

constexpr unsigned kMaxDevices = 1024;
constexpr std::size_t kMaxProcesses = 65'536;  // on one device
constexpr int kTries = 4;                      // processes may come while they are counted

std::unexpected<Error> failed(const char* function, NvmlReturn code) {
  return fail(ErrorCode::kDeviceFailed,
              "NVML: " + std::string(function) + " failed with code " + std::to_string(code));
}

}  // namespace

struct Nvml::Functions {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  NvmlReturn (*count)(unsigned*) = nullptr;
  NvmlReturn (*handle)(unsigned, NvmlDevice*) = nullptr;
  NvmlReturn (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlReturn (*processes)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;
  void* library = nullptr;
  bool is_ready = false;

  Functions() = default;
  Functions(const Functions&) = delete;
  Functions& operator=(const Functions&) = delete;
  ~Functions() {
    if (is_ready) {
      shutdown();
    }
    if (library != nullptr) {
      ::dlclose(library);
    }
  }

  template <typename Function>
  [[nodiscard]] bool find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    return function != nullptr;
  }
  [[nodiscard]] bool find_all() {
    return find("nvmlInit_v2", init) && find("nvmlShutdown", shutdown) &&
           find("nvmlDeviceGetCount_v2", count) && find("nvmlDeviceGetHandleByIndex_v2", handle) &&
           find("nvmlDeviceGetUUID", uuid) &&
           find("nvmlDeviceGetComputeRunningProcesses_v3", processes);
  }
};

Nvml::Nvml(std::string library) : library_(std::move(library)) {}

Nvml::~Nvml() = default;

Status Nvml::open() {
  if (functions_) {
    return {};
  }
  auto functions = std::make_unique<Functions>();
  functions->library = ::dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (functions->library == nullptr) {
    return fail(ErrorCode::kDeviceNotFound, "NVML is not there: this host has no NVIDIA driver");
  }
  if (!functions->find_all()) {
    return fail(ErrorCode::kDeviceNotFound, "NVML lacks a function: the driver is too old");
  }
  if (const NvmlReturn code = functions->init(); code != kSuccess) {
    return failed("nvmlInit_v2", code);
  }
  functions->is_ready = true;
  functions_ = std::move(functions);
  return {};
}

Status Nvml::add_device(unsigned index, std::vector<DeviceProcess>& found) const {
  NvmlDevice device = nullptr;
  if (const NvmlReturn code = functions_->handle(index, &device); code != kSuccess) {
    return failed("nvmlDeviceGetHandleByIndex_v2", code);
  }
  std::array<char, kUuidBytes> uuid{};
  if (const NvmlReturn code = functions_->uuid(device, uuid.data(), kUuidBytes); code != kSuccess) {
    return failed("nvmlDeviceGetUUID", code);
  }
  uuid.back() = '\0';
  std::vector<NvmlProcess> list(256);
  for (int i = 0; i < kTries; ++i) {
    auto count = static_cast<unsigned>(list.size());
    const NvmlReturn code = functions_->processes(device, &count, list.data());
    if (code == kInsufficientSize && count < kMaxProcesses) {
      list.resize(std::size_t{count} * 2 + 1);
      continue;
    }
    if (code != kSuccess || count > list.size()) {
      return failed("nvmlDeviceGetComputeRunningProcesses_v3", code);
    }
    list.resize(count);
    for (const NvmlProcess& one : list) {
      found.push_back({uuid.data(), one.pid,
                       one.used_gpu_memory == kNotAvailable
                           ? std::nullopt
                           : std::optional<std::uint64_t>(one.used_gpu_memory)});
    }
    return {};
  }
  return fail(ErrorCode::kLimitExceeded, "NVML lists more processes each time it is asked");
}

Result<std::vector<DeviceProcess>> Nvml::processes() {
  const std::scoped_lock lock(mutex_);
  ASSAY_TRY(open());
  unsigned count = 0;
  if (const NvmlReturn code = functions_->count(&count); code != kSuccess || count > kMaxDevices) {
    return failed("nvmlDeviceGetCount_v2", code);
  }
  std::vector<DeviceProcess> found;
  for (unsigned i = 0; i < count; ++i) {
    ASSAY_TRY(add_device(i, found));
  }
  return found;
}

}  // namespace assay::worker
