// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/dispatch.h"

#include <charconv>
#include <utility>

#include "gpu_hash/auto_choice.h"
#include "gpu_hash/choose.h"
#include "gpu_hash/cl_engine.h"
#include "gpu_hash/cpu_engine.h"

namespace assay::gpu_hash {
namespace {

constexpr std::string_view kOpenClPrefix = "opencl:";

std::unexpected<Error> not_found(std::string detail) {
  return fail(ErrorCode::kDeviceNotFound, std::move(detail));
}

Result<unsigned> by_name(const std::vector<DeviceInfo>& devices, const std::string& part) {
  std::optional<unsigned> found;
  for (unsigned i = 0; i < devices.size(); ++i) {
    if (devices[i].name.find(part) == std::string::npos) {
      continue;
    }
    if (found) {
      return not_found("several OpenCL devices have \"" + part + "\" in their name");
    }
    found = i;
  }
  if (!found) {
    return not_found("no OpenCL device has \"" + part + "\" in its name");
  }
  return *found;
}

}  // namespace

Result<DeviceChoice> parse_device(std::string_view text) {
  using Kind = DeviceChoice::Kind;
  if (text == "auto") {
    return DeviceChoice{Kind::kAuto, {}, {}};
  }
  if (text == "cpu") {
    return DeviceChoice{Kind::kCpu, {}, {}};
  }
  if (text == "opencl") {
    return DeviceChoice{Kind::kOpenCl, {}, {}};
  }
  if (!text.starts_with(kOpenClPrefix) || text.size() == kOpenClPrefix.size()) {
    return fail(ErrorCode::kUsage,
                "a device is one of auto, cpu, opencl, opencl:NUMBER, opencl:NAME");
  }
  text.remove_prefix(kOpenClPrefix.size());
  if (text.find_first_not_of("0123456789") != std::string_view::npos) {
    return DeviceChoice{Kind::kOpenCl, {}, std::string(text)};
  }
  unsigned index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorCode::kUsage, "the device number is too large");
  }
  return DeviceChoice{Kind::kOpenCl, index, {}};
}

Result<std::optional<unsigned>> choose_device(const DeviceChoice& choice,
                                              const std::vector<DeviceInfo>& devices) {
  if (choice.kind == DeviceChoice::Kind::kCpu) {
    return std::nullopt;
  }
  if (choice.kind == DeviceChoice::Kind::kAuto) {
    return fail(ErrorCode::kInternal, "the choice of a device needs its measurement");
  }
  if (devices.empty()) {
    return not_found(opencl_absence());
  }
  if (!choice.name.empty()) {
    ASSAY_ASSIGN(const unsigned index, by_name(devices, choice.name));
    return index;
  }
  const unsigned index = choice.index.value_or(0);
  if (index >= devices.size()) {
    return not_found("there are " + std::to_string(devices.size()) + " OpenCL devices, from 0");
  }
  return index;
}

Result<std::optional<unsigned>> resolve_device(const DeviceChoice& choice,
                                               const EngineOptions& options) {
  switch (choice.kind) {
    case DeviceChoice::Kind::kCpu:
      return std::nullopt;
    case DeviceChoice::Kind::kAuto:
      return choose_auto(options).index;
    case DeviceChoice::Kind::kOpenCl:
      break;
  }
  return choose_device(choice, list_opencl_devices());
}

Result<std::unique_ptr<Engine>> make_engine(const DeviceChoice& choice,
                                            const EngineOptions& options) {
  ASSAY_ASSIGN(const std::optional<unsigned> index, resolve_device(choice, options));
  return index ? make_opencl_engine(*index, options) : make_cpu_engine(options.threads);
}

}  // namespace assay::gpu_hash
