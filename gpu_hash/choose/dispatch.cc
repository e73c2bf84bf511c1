// SPDX-License-Identifier: Apache-2.0
// Reads --device and makes the engine that it says.
#include "gpu_hash/dispatch.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "gpu_hash/auto_choice.h"
#include "gpu_hash/choose/choose.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/drivers.h"
#include "gpu_hash/opencl/opencl.h"
#include "gpu_hash/spread/engine.h"
#include "gpu_hash/workers.h"

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

Status check_index(unsigned index, const std::vector<DeviceInfo>& devices) {
  if (index >= devices.size()) {
    return not_found("there are " + std::to_string(devices.size()) + " OpenCL devices, from 0");
  }
  return {};
}

Result<unsigned> parse_number(std::string_view text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) {
    return fail(ErrorCode::kUsage, "the device number is too large");
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorCode::kUsage, "devices are numbers with commas between them: opencl:0,2");
  }
  return number;
}

// "0,2": two or more.
Result<DeviceChoice> parse_list(std::string_view text) {
  DeviceChoice choice{DeviceChoice::Kind::kOpenCl, {}, {}};
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = text.find(',');
    ASSAY_ASSIGN(const unsigned number, parse_number(text.substr(0, comma)));
    if (std::ranges::find(choice.indices, number) != choice.indices.end()) {
      return fail(ErrorCode::kUsage, "a device is named twice");
    }
    if (choice.indices.size() == kMaxSharingDevices) {
      return fail(ErrorCode::kUsage,
                  "at most " + std::to_string(kMaxSharingDevices) + " devices share the work");
    }
    choice.indices.push_back(number);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return choice;
}

Result<std::unique_ptr<Engine>> make_spread_engine(Drivers& drivers,
                                                   const std::vector<unsigned>& indices,
                                                   const EngineOptions& options) {
  // As many readers for each device as one alone would get, if there are cores for all of them.
  constexpr unsigned kMaxReaders = 16;
  const auto count = static_cast<unsigned>(indices.size());
  EngineOptions own = options;
  own.threads = options.threads == 0 ? std::min(usable_cores() / count, kMaxReaders)
                                     : options.threads / count;
  own.threads = std::max(own.threads, 1U);
  std::vector<std::unique_ptr<Engine>> members;
  for (const unsigned index : indices) {
    ASSAY_ASSIGN(std::unique_ptr<Engine> member, drivers.make_engine(index, own));
    members.push_back(std::move(member));
  }
  return SpreadEngine::create(std::move(members));
}

// The error of a choice among the devices of `listing`: where a platform failed, it may have had
// the device, so the error says why.
template <typename T>
Result<T> explain(Result<T> chosen, const DeviceListing& listing) {
  if (chosen || chosen.error().code != ErrorCode::kDeviceNotFound || listing.failed.empty()) {
    return chosen;
  }
  Error error{ErrorCode::kDeviceNotFound,
              listing.devices.empty() ? "no OpenCL device can be used" : chosen.error().detail,
              {}};
  for (const FailedPlatform& failed : listing.failed) {
    error.detail += "; " + failed.name + ": " + failed.error.detail;
    error.code = failed.error.code == ErrorCode::kDeviceFailed ? failed.error.code : error.code;
  }
  return std::unexpected(std::move(error));
}

class OwnDrivers final : public Drivers {
 public:
  [[nodiscard]] DeviceListing list() override { return list_opencl_devices(); }
  [[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(unsigned index,
                                                            const EngineOptions& options) override {
    return make_opencl_engine(index, options);
  }
  [[nodiscard]] Result<BenchResult> bench(unsigned index, HashAlgorithm hash, std::uint64_t bytes,
                                          const EngineOptions& options) override {
    return bench_opencl(index, hash, bytes, options);
  }
};

}  // namespace

Drivers& drivers_in_this_process() {
  static OwnDrivers drivers;
  return drivers;
}

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
                "a device is one of auto, cpu, opencl, opencl:NUMBER, opencl:NAME, opencl:all, "
                "opencl:NUMBER,NUMBER");
  }
  text.remove_prefix(kOpenClPrefix.size());
  if (text == "all") {
    return DeviceChoice{.kind = Kind::kOpenCl, .all = true};
  }
  if (text.find_first_not_of("0123456789,") != std::string_view::npos) {
    return DeviceChoice{Kind::kOpenCl, {}, std::string(text)};
  }
  if (text.find(',') != std::string_view::npos) {
    return parse_list(text);
  }
  ASSAY_ASSIGN(const unsigned index, parse_number(text));
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
  if (chooses_several(choice)) {
    return fail(ErrorCode::kUsage, "this takes one device: auto, cpu, opencl:NUMBER, opencl:NAME");
  }
  if (devices.empty()) {
    return not_found(opencl_absence());
  }
  if (!choice.name.empty()) {
    ASSAY_ASSIGN(const unsigned index, by_name(devices, choice.name));
    return index;
  }
  const unsigned index = choice.index.value_or(0);
  ASSAY_TRY(check_index(index, devices));
  return index;
}

bool chooses_several(const DeviceChoice& choice) { return choice.all || !choice.indices.empty(); }

Result<std::vector<unsigned>> choose_devices(const DeviceChoice& choice,
                                             const std::vector<DeviceInfo>& devices) {
  if (devices.empty()) {
    return not_found(opencl_absence());
  }
  for (const unsigned index : choice.indices) {
    ASSAY_TRY(check_index(index, devices));
  }
  if (!choice.all) {
    return choice.indices;
  }
  std::vector<unsigned> found;
  for (unsigned i = 0; i < devices.size(); ++i) {
    if (devices[i].type != "cpu") {
      found.push_back(i);
    }
  }
  if (found.size() > kMaxSharingDevices) {
    return fail(ErrorCode::kLimitExceeded,
                "there are " + std::to_string(found.size()) + " devices, and at most " +
                    std::to_string(kMaxSharingDevices) + " share the work: name them");
  }
  return found.empty() ? std::vector<unsigned>{0} : found;
}

Result<std::optional<unsigned>> resolve_device(Drivers& drivers, const DeviceChoice& choice,
                                               const EngineOptions& options) {
  switch (choice.kind) {
    case DeviceChoice::Kind::kCpu:
      return std::nullopt;
    case DeviceChoice::Kind::kAuto:
      return choose_auto(drivers, options).index;
    case DeviceChoice::Kind::kOpenCl:
      break;
  }
  const DeviceListing listing = drivers.list();
  return explain(choose_device(choice, listing.devices), listing);
}

Result<std::unique_ptr<Engine>> make_engine(Drivers& drivers, const DeviceChoice& choice,
                                            const EngineOptions& options) {
  if (chooses_several(choice)) {
    const DeviceListing listing = drivers.list();
    ASSAY_ASSIGN(const std::vector<unsigned> indices,
                 explain(choose_devices(choice, listing.devices), listing));
    return indices.size() > 1 ? make_spread_engine(drivers, indices, options)
                              : drivers.make_engine(indices.front(), options);
  }
  ASSAY_ASSIGN(const std::optional<unsigned> index, resolve_device(drivers, choice, options));
  return index ? drivers.make_engine(*index, options) : make_cpu_engine(options.threads);
}

}  // namespace assay::gpu_hash
