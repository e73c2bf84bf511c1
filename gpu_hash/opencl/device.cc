// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/device.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include "schemas/core/bytes.h"

namespace assay::gpu_hash {
namespace {

struct ErrorName {
  cl_int code;
  const char* name;
};

// The errors that a device's condition or our use of it can cause.
constexpr std::array kErrorNames = {
    ErrorName{CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
    ErrorName{CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
    ErrorName{CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    ErrorName{CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    ErrorName{CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
    ErrorName{CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
    ErrorName{CL_MAP_FAILURE, "CL_MAP_FAILURE"},
    ErrorName{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
              "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    ErrorName{CL_INVALID_VALUE, "CL_INVALID_VALUE"},
    ErrorName{CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
    ErrorName{CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
    ErrorName{CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
    ErrorName{CL_INVALID_BINARY, "CL_INVALID_BINARY"},
    ErrorName{CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
};

// Text properties come with a terminating NUL.
template <typename Get>
std::optional<std::string> text(Get get) {
  std::size_t size = 0;
  if (get(0, nullptr, &size) != CL_SUCCESS || size == 0) {
    return std::nullopt;
  }
  std::string value(size, '\0');
  if (get(size, value.data(), nullptr) != CL_SUCCESS) {
    return std::nullopt;
  }
  value.resize(value.find('\0') == std::string::npos ? size : value.find('\0'));
  return value;
}

std::optional<std::string> device_text(cl_device_id device, cl_device_info what) {
  return text([&](std::size_t size, void* value, std::size_t* needed) {
    return clGetDeviceInfo(device, what, size, value, needed);
  });
}

template <typename T>
std::optional<T> device_value(cl_device_id device, cl_device_info what) {
  T value{};
  if (clGetDeviceInfo(device, what, sizeof(value), &value, nullptr) != CL_SUCCESS) {
    return std::nullopt;
  }
  return value;
}

// As NVIDIA's tools write it. The CUDA driver says the same 16 bytes.
std::string device_uuid(cl_device_id device, cl_device_type type) {
  constexpr cl_device_info kUuid = 0x106A;  // CL_DEVICE_UUID_KHR
  const auto bytes = device_value<std::array<std::uint8_t, 16>>(device, kUuid);
  if (!bytes || (type & CL_DEVICE_TYPE_GPU) == 0) {
    return {};
  }
  std::string text = hex_encode(*bytes);
  for (const std::size_t dash : {20U, 16U, 12U, 8U}) {
    text.insert(dash, "-");
  }
  return "GPU-" + text;
}

// Extension cl_khr_pci_bus_info.
std::string pci_address(cl_device_id device) {
  struct Address {
    cl_uint domain, bus, device, function;
  };
  constexpr cl_device_info kPciBusInfo = 0x410F;  // CL_DEVICE_PCI_BUS_INFO_KHR
  const auto address = device_value<Address>(device, kPciBusInfo);
  if (!address || address->bus > 0xff || address->device > 0x1f || address->function > 7) {
    return {};
  }
  std::array<char, 24> text{};
  (void)std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", address->domain, address->bus,
                      address->device, address->function);
  return text.data();
}

const char* type_name(cl_device_type type) {
  if ((type & CL_DEVICE_TYPE_GPU) != 0) {
    return "gpu";
  }
  if ((type & CL_DEVICE_TYPE_ACCELERATOR) != 0) {
    return "accelerator";
  }
  return (type & CL_DEVICE_TYPE_CPU) != 0 ? "cpu" : "other";
}

std::optional<ClDevice> describe(cl_platform_id platform, const std::string& platform_name,
                                 cl_device_id device) {
  const auto name = device_text(device, CL_DEVICE_NAME);
  const auto driver = device_text(device, CL_DRIVER_VERSION);
  const auto version = device_text(device, CL_DEVICE_VERSION);
  const auto type = device_value<cl_device_type>(device, CL_DEVICE_TYPE);
  const auto memory = device_value<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
  const auto allocation = device_value<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  const auto units = device_value<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
  const auto usable = [&](cl_device_info what) {
    return device_value<cl_bool>(device, what).value_or(CL_FALSE) == CL_TRUE;
  };
  if (!name || !driver || !version || !type || !memory || !allocation || !units ||
      !usable(CL_DEVICE_AVAILABLE) || !usable(CL_DEVICE_COMPILER_AVAILABLE) ||
      !usable(CL_DEVICE_ENDIAN_LITTLE)) {
    return std::nullopt;
  }
  ClDevice result{platform, device, {}, {}, 0, false, {}, {}, {}};
  result.vendor = device_text(device, CL_DEVICE_VENDOR).value_or("");
  result.max_parameter_bytes =
      device_value<std::size_t>(device, CL_DEVICE_MAX_PARAMETER_SIZE).value_or(0);
  result.imports_fds = device_text(device, CL_DEVICE_EXTENSIONS)
                           .value_or("")
                           .find("cl_khr_external_memory_opaque_fd") != std::string::npos;
  result.uuid = device_uuid(device, *type);
  result.pci = pci_address(device);
  result.info = {"", *name, platform_name, *driver, type_name(*type), *memory, *allocation, *units};
  result.identity = platform_name + "\n" + *name + "\n" + *driver + "\n" + *version + "\n";
  return result;
}

std::string platform_name(cl_platform_id platform) {
  return text([&](std::size_t size, void* value, std::size_t* needed) {
           return clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, value, needed);
         })
      .value_or("a platform without a name");
}

Status add_devices(cl_platform_id platform, const std::string& name, std::vector<ClDevice>& out) {
  cl_uint count = 0;
  cl_int result = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  std::vector<cl_device_id> devices(result == CL_SUCCESS ? count : 0);
  if (result == CL_SUCCESS && count > 0) {
    result = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  }
  if (result == CL_DEVICE_NOT_FOUND || (result == CL_SUCCESS && count == 0)) {
    return fail(ErrorCode::kDeviceNotFound,
                "the driver answers CL_DEVICE_NOT_FOUND: there is no such hardware, or the driver "
                "cannot use it (PoCL needs a cache directory that it can write: HOME, "
                "POCL_CACHE_DIR)");
  }
  if (result != CL_SUCCESS) {
    return cl_failure(name, "clGetDeviceIDs", result);
  }
  const std::size_t before = out.size();
  for (const cl_device_id device : devices) {
    if (auto described = describe(platform, name, device)) {
      out.push_back(std::move(*described));
    }
  }
  return out.size() > before
             ? Status{}
             : fail(ErrorCode::kDeviceFailed,
                    "no device of this platform is available, little-endian and has a compiler");
}

std::vector<cl_platform_id> platforms_of(std::vector<FailedPlatform>& failed) {
  cl_uint count = 0;
  cl_int result = clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(result == CL_SUCCESS ? count : 0);
  if (!platforms.empty()) {
    result = clGetPlatformIDs(count, platforms.data(), nullptr);
  }
  // The loader answers with this error when there is no platform.
  constexpr cl_int kNoPlatform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR
  if (result != CL_SUCCESS && result != kNoPlatform) {
    failed.push_back({"OpenCL loader", cl_failure("OpenCL", "clGetPlatformIDs", result).error()});
    platforms.clear();
  }
  return platforms;
}

}  // namespace

std::vector<ClDevice> find_cl_devices(std::vector<FailedPlatform>* failed) {
  std::vector<FailedPlatform> unusable;
  std::vector<ClDevice> devices;
  for (const cl_platform_id platform : platforms_of(unusable)) {
    const std::string name = platform_name(platform);
    if (const Status added = add_devices(platform, name, devices); !added) {
      unusable.push_back({name, added.error()});
    }
  }
  if (failed != nullptr) {
    *failed = std::move(unusable);
  }
  // Stable: equal devices keep the order their driver gives them.
  std::stable_sort(devices.begin(), devices.end(), [](const ClDevice& a, const ClDevice& b) {
    return is_listed_before(a.info, b.info);
  });
  for (std::size_t i = 0; i < devices.size(); ++i) {
    devices[i].info.id = "opencl:" + std::to_string(i);
  }
  return devices;
}

std::unexpected<Error> cl_failure(const std::string& device, const char* call, cl_int error) {
  const auto* known = std::find_if(kErrorNames.begin(), kErrorNames.end(),
                                   [&](const ErrorName& row) { return row.code == error; });
  const std::string what = known != kErrorNames.end() ? std::string(known->name)
                                                      : "OpenCL error " + std::to_string(error);
  return fail(ErrorCode::kDeviceFailed, device + ": " + call + " failed with " + what);
}

Result<ClSession> ClSession::open(ClDevice device) {
  cl_int error = CL_SUCCESS;
  const std::array<cl_context_properties, 3> properties = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(device.platform), 0};
  ClContext context(
      clCreateContext(properties.data(), 1, &device.device, nullptr, nullptr, &error));
  if (error != CL_SUCCESS) {
    return cl_failure(device.info.name, "clCreateContext", error);
  }
  return ClSession(std::move(device), std::move(context));
}

Result<ClQueue> ClSession::make_queue() const {
  cl_int error = CL_SUCCESS;
  ClQueue queue(clCreateCommandQueue(context_.get(), device_.device, 0, &error));
  ASSAY_TRY(check("clCreateCommandQueue", error));
  return queue;
}

Result<ClBuffer> ClSession::make_buffer(cl_mem_flags flags, std::uint64_t size) const {
  cl_int error = CL_SUCCESS;
  ClBuffer buffer(clCreateBuffer(context_.get(), flags, size, nullptr, &error));
  ASSAY_TRY(check("clCreateBuffer", error));
  return buffer;
}

Status ClSession::check(const char* call, cl_int result) const {
  return result == CL_SUCCESS ? Status{} : cl_failure(name(), call, result);
}

Status ClEvents::wait(const ClSession& session) {
  std::vector<cl_event> events;
  events.reserve(events_.size());
  for (const ClEvent& event : events_) {
    events.push_back(event.get());
  }
  if (events.empty()) {
    return {};
  }
  ASSAY_TRY(session.check("clWaitForEvents",
                          clWaitForEvents(static_cast<cl_uint>(events.size()), events.data())));
  for (const cl_event event : events) {
    cl_int status = CL_SUCCESS;
    ASSAY_TRY(
        session.check("clGetEventInfo", clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                                       sizeof(status), &status, nullptr)));
    if (status != CL_COMPLETE) {
      return cl_failure(session.name(), "a command on the device", status);
    }
  }
  events_.clear();
  return {};
}

}  // namespace assay::gpu_hash
