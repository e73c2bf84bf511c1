// SPDX-License-Identifier: Apache-2.0
// Lists devices by processes, and makes engines of processes.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "gpu_hash/device.h"
#include "gpu_hash/driver_process.h"
#include "gpu_hash/driver_process/engine.h"
#include "gpu_hash/driver_process/process.h"

namespace assay::gpu_hash {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxVendors = 64;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The files of drivers that the OpenCL loader takes (libOpenCL(7)): values of OCL_ICD_VENDORS that
// stand for one driver each.
std::vector<std::string> vendor_files() {
  std::string place = variable("OCL_ICD_VENDORS");
  place = place.empty() ? variable("OPENCL_VENDOR_PATH") : place;
  place = place.empty() ? "/etc/OpenCL/vendors" : place;
  std::error_code error;
  if (!fs::is_directory(place, error)) {
    return fs::exists(place, error) || place.find('/') == std::string::npos
               ? std::vector<std::string>{place}
               : std::vector<std::string>{};
  }
  std::vector<std::string> files;
  for (fs::directory_iterator entry(place, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".icd" && files.size() < kMaxVendors) {
      files.push_back(entry->path().string());
    }
  }
  std::ranges::sort(files);
  return files;
}

struct Listed {
  DeviceListing listing;
  std::vector<DevicePlace> places;  // by device
};

class DriverProcesses final : public Drivers {
 public:
  explicit DriverProcesses(DriverProgram program) : program_(std::move(program)) {}

  [[nodiscard]] DeviceListing list() override { return listed().listing; }

  [[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(unsigned index,
                                                            const EngineOptions& options) override {
    ASSAY_ASSIGN(const DevicePlace place, place_of(index));
    return ProcessEngine::create(program_, place, options, take_spare(place));
  }

  [[nodiscard]] Result<BenchResult> bench(unsigned index, HashAlgorithm hash, std::uint64_t bytes,
                                          const EngineOptions& options) override {
    ASSAY_ASSIGN(const DevicePlace place, place_of(index));
    const std::string what = place.id + " (" + place.name + ")";
    std::unique_ptr<DriverProcess> process = take_spare(place);
    if (!process) {
      ASSAY_ASSIGN(process, DriverProcess::start(program_, place.vendors, what));
    }
    process->rename(what);
    ASSAY_ASSIGN(const driver::Benched benched,
                 process->ask<driver::Benched>(
                     driver::Bench{driver::open_of(place.index, options), hash, bytes},
                     program_.times.bench));
    auto result = driver::result_of(benched, hash, place.id);
    return result ? std::move(result) : process->nonsense(result.error().detail);
  }

 private:
  // Once: positions in a list must go on meaning the same devices.
  const Listed& listed() {
    if (!listed_) {
      listed_ = list_all();
    }
    return *listed_;
  }

  Result<DevicePlace> place_of(unsigned index) {
    const Listed& all = listed();
    if (index >= all.places.size()) {
      return fail(ErrorCode::kDeviceNotFound, "there is no such OpenCL device");
    }
    return all.places[index];
  }

  // The process that listed all devices can drive one, too.
  std::unique_ptr<DriverProcess> take_spare(const DevicePlace& place) {
    return place.vendors.empty() ? std::exchange(spare_, nullptr) : nullptr;
  }

  // What one process lists. Keeps the process in `process`.
  Result<Listed> list_by(const std::string& vendors, const std::string& what,
                         std::unique_ptr<DriverProcess>& process) {
    ASSAY_ASSIGN(process, DriverProcess::start(program_, vendors, what));
    ASSAY_ASSIGN(driver::Listed found,
                 process->ask<driver::Listed>(
                     driver::List{}, std::min(program_.times.list, program_.times.silent)));
    Listed result;
    for (unsigned i = 0; i < found.devices.size(); ++i) {
      result.places.push_back({vendors, i, {}, found.devices[i].name});
    }
    result.listing.devices = std::move(found.devices);
    for (const driver::Failure& failure : found.failed) {
      Error error = DriverProcess::error_of({failure.problem});
      if (const std::string words = process->last_words(); !words.empty()) {
        error.detail += ", last words: " + words;
      }
      result.listing.failed.push_back({failure.platform, std::move(error)});
    }
    return result;
  }

  Listed list_all() {
    auto all = list_by("", "the OpenCL drivers", spare_);
    const bool says_nothing = all && all->listing.devices.empty() && all->listing.failed.empty();
    if (all && !says_nothing) {
      number(*all);
      return *std::move(all);
    }
    spare_.reset();
    const std::vector<std::string> files = vendor_files();
    if (all && files.empty()) {
      return *std::move(all);
    }
    if (!all && files.size() <= 1) {
      const std::string name = files.empty() ? "OpenCL" : fs::path(files[0]).filename().string();
      return {{{}, {{name, std::move(all).error()}}}, {}};
    }
    return list_one_by_one(files);
  }

  Listed list_one_by_one(const std::vector<std::string>& files) {
    Listed result;
    for (const std::string& file : files) {
      const std::string name = fs::path(file).filename().string();
      std::unique_ptr<DriverProcess> process;
      auto one = list_by(file, "the driver of " + name, process);
      if (one && one->listing.devices.empty() && one->listing.failed.empty()) {
        one = fail(ErrorCode::kDeviceFailed,
                   "the OpenCL loader cannot load the driver that this file names");
      }
      if (!one) {
        result.listing.failed.push_back({name, std::move(one).error()});
        continue;
      }
      std::ranges::move(one->listing.devices, std::back_inserter(result.listing.devices));
      std::ranges::move(one->listing.failed, std::back_inserter(result.listing.failed));
      std::ranges::move(one->places, std::back_inserter(result.places));
    }
    number(result);
    return result;
  }

  // Brings the devices of several processes into one order, with numbers of their own.
  static void number(Listed& listed) {
    std::vector<std::size_t> order(listed.places.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return is_listed_before(listed.listing.devices[a], listed.listing.devices[b]);
    });
    std::vector<DeviceInfo> devices;
    std::vector<DevicePlace> places;
    for (const std::size_t from : order) {
      const std::string id = "opencl:" + std::to_string(devices.size());
      devices.push_back(std::move(listed.listing.devices[from]));
      places.push_back(std::move(listed.places[from]));
      devices.back().id = places.back().id = id;
    }
    listed.listing.devices = std::move(devices);
    listed.places = std::move(places);
  }

  const DriverProgram program_;
  std::optional<Listed> listed_;
  std::unique_ptr<DriverProcess> spare_;
};

}  // namespace

std::unique_ptr<Drivers> make_driver_processes(DriverProgram program) {
  return std::make_unique<DriverProcesses>(std::move(program));
}

}  // namespace assay::gpu_hash
