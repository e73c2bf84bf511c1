// SPDX-License-Identifier: Apache-2.0
// Evidence of GPUs. NVML API Reference Guide, "Confidential Compute" structures and "Device
// Queries"; the names and layouts are those of its version 12.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "attestation/provider/device_evidence.h"
#include "attestation/provider/library.h"

namespace assay::attestation {
namespace {

// The documented binary interface, as far as it is used here.
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlNotSupported = 3;
constexpr std::size_t kNvmlUuidBytes = 96;
constexpr unsigned kNvmlHopper = 9;
constexpr unsigned kNvmlBlackwell = 10;
constexpr unsigned kMaxNvmlDevices = 256;
using NvmlHandle = void*;

struct NvmlReport {  // nvmlConfComputeGpuAttestationReport_t
  unsigned is_cec_present;
  unsigned report_size;
  unsigned cec_size;
  std::array<std::uint8_t, 32> nonce;
  std::array<std::uint8_t, 0x2000> report;
  std::array<std::uint8_t, 0x1000> cec;
};
static_assert(offsetof(NvmlReport, report) == 44 && sizeof(NvmlReport) == 44 + 0x3000);

struct NvmlCertificates {  // nvmlConfComputeGpuCertificate_t
  unsigned chain_size;
  unsigned attestation_size;
  std::array<std::uint8_t, 0x1000> chain;
  std::array<std::uint8_t, 0x1400> attestation;
};
static_assert(sizeof(NvmlCertificates) == 8 + 0x2400);

struct NvmlState {  // nvmlConfComputeSystemState_t
  unsigned environment;
  unsigned feature;   // 1: confidential computing is on
  unsigned devtools;  // 1: on, but memory of the device can be looked at
};
struct NvmlSettings {  // nvmlSystemConfComputeSettings_v1_t
  unsigned version;
  unsigned environment;
  unsigned feature;
  unsigned devtools;
  unsigned multi_gpu;  // 1: protected PCIe
};
constexpr unsigned kSettingsVersion = sizeof(NvmlSettings) | 1U << 24;

std::unexpected<Error> nvml_failed(const char* function, int code) {
  return fail(ErrorCode::kDeviceFailed,
              "NVML: " + std::string(function) + " failed with code " + std::to_string(code));
}

class NvmlSession {
 public:
  explicit NvmlSession(const std::string& name) : library_(name) {}
  ~NvmlSession() {
    if (is_ready_) {
      shutdown_();
    }
  }
  NvmlSession(const NvmlSession&) = delete;
  NvmlSession& operator=(const NvmlSession&) = delete;

  [[nodiscard]] Status open() {
    if (!library_.is_open()) {
      return fail(ErrorCode::kDeviceNotFound, "NVML is not there: this host has no NVIDIA driver");
    }
    int (*init)() = nullptr;
    if (!library_.find("nvmlInit_v2", init) || !library_.find("nvmlShutdown", shutdown_) ||
        !library_.find("nvmlDeviceGetCount_v2", count_) ||
        !library_.find("nvmlDeviceGetHandleByIndex_v2", handle_) ||
        !library_.find("nvmlDeviceGetUUID", uuid_) ||
        !library_.find("nvmlDeviceGetArchitecture", architecture_) ||
        !library_.find("nvmlSystemGetConfComputeState", state_) ||
        !library_.find("nvmlDeviceGetConfComputeGpuAttestationReport", report_) ||
        !library_.find("nvmlDeviceGetConfComputeGpuCertificate", certificates_)) {
      return fail(ErrorCode::kDeviceNotFound,
                  "NVML lacks a function: the driver is older than confidential computing");
    }
    static_cast<void>(library_.find("nvmlSystemGetConfComputeSettings", settings_));
    if (const int code = init(); code != kNvmlSuccess) {
      return nvml_failed("nvmlInit_v2", code);
    }
    is_ready_ = true;
    return {};
  }

  [[nodiscard]] Result<unsigned> count() const {
    unsigned count = 0;
    if (const int code = count_(&count); code != kNvmlSuccess || count > kMaxNvmlDevices) {
      return nvml_failed("nvmlDeviceGetCount_v2", code);
    }
    return count;
  }

  // The mode is the machine's, not a device's.
  [[nodiscard]] Result<std::string> mode() const {
    NvmlSettings settings{};
    settings.version = kSettingsVersion;
    if (settings_ != nullptr && settings_(&settings) == kNvmlSuccess && settings.multi_gpu == 1) {
      return settings.devtools == 0 ? "ppcie" : "devtools";
    }
    NvmlState state{};
    const int code = state_(&state);
    if (code != kNvmlSuccess && code != kNvmlNotSupported) {
      return nvml_failed("nvmlSystemGetConfComputeState", code);
    }
    if (code == kNvmlNotSupported || state.feature != 1) {
      return "off";
    }
    return state.devtools == 0 ? "cc" : "devtools";
  }

  struct Found {
    NvmlHandle handle;
    ListedDevice device;
  };
  [[nodiscard]] Result<Found> device(unsigned index, const std::string& mode) const {
    Found found{nullptr, {.uuid = {}, .kind = "gpu", .architecture = {}, .mode = mode}};
    if (const int code = handle_(index, &found.handle); code != kNvmlSuccess) {
      return nvml_failed("nvmlDeviceGetHandleByIndex_v2", code);
    }
    std::array<std::uint8_t, kNvmlUuidBytes> uuid{};
    if (const int code = uuid_(found.handle, reinterpret_cast<char*>(uuid.data()), kNvmlUuidBytes);
        code != kNvmlSuccess) {
      return nvml_failed("nvmlDeviceGetUUID", code);
    }
    ASSAY_ASSIGN(found.device.uuid, read_uuid(uuid));
    unsigned architecture = 0;
    if (const int code = architecture_(found.handle, &architecture); code != kNvmlSuccess) {
      return nvml_failed("nvmlDeviceGetArchitecture", code);
    }
    found.device.architecture = architecture == kNvmlHopper      ? "HOPPER"
                                : architecture == kNvmlBlackwell ? "BLACKWELL"
                                                                 : "";
    return found;
  }

  [[nodiscard]] Result<PresentedDevice> ask(const Found& found, const Nonce& nonce) const {
    // No report says that a device is in devtools mode: a measured agent that does not ask is what
    // keeps such devices out.
    if (found.device.mode == "off" || found.device.mode == "devtools" ||
        found.device.architecture.empty()) {
      return not_confidential(found.device);
    }
    const auto report = std::make_unique<NvmlReport>();
    report->nonce = nonce;
    if (const int code = report_(found.handle, report.get()); code != kNvmlSuccess) {
      return refused(found.device, "nvmlDeviceGetConfComputeGpuAttestationReport", code);
    }
    const auto chain = std::make_unique<NvmlCertificates>();
    if (const int code = certificates_(found.handle, chain.get()); code != kNvmlSuccess) {
      return refused(found.device, "nvmlDeviceGetConfComputeGpuCertificate", code);
    }
    if (report->report_size > report->report.size() ||
        chain->attestation_size > chain->attestation.size()) {
      return fail(ErrorCode::kEvidenceUnavailable,
                  "NVML says that more came than there was room for");
    }
    return present_device({found.device.uuid, found.device.architecture,
                           std::span(report->report).first(report->report_size),
                           std::span(chain->attestation).first(chain->attestation_size)},
                          nonce);
  }

 private:
  static std::unexpected<Error> not_confidential(const ListedDevice& device) {
    return fail(ErrorCode::kDeviceNotConfidential,
                "The GPU " + device.uuid +
                    (device.architecture.empty() ? " is of an architecture without evidence"
                     : device.mode == "devtools"
                         ? " is in devtools mode, in which its memory can be looked at"
                         : " has confidential computing off"));
  }
  static std::unexpected<Error> refused(const ListedDevice& device, const char* function,
                                        int code) {
    return code == kNvmlNotSupported ? not_confidential(device) : nvml_failed(function, code);
  }

  DriverLibrary library_;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, NvmlHandle*) = nullptr;
  int (*uuid_)(NvmlHandle, char*, unsigned) = nullptr;
  int (*architecture_)(NvmlHandle, unsigned*) = nullptr;
  int (*state_)(NvmlState*) = nullptr;
  int (*settings_)(NvmlSettings*) = nullptr;
  int (*report_)(NvmlHandle, NvmlReport*) = nullptr;
  int (*certificates_)(NvmlHandle, NvmlCertificates*) = nullptr;
  bool is_ready_ = false;
};

class NvmlDevices final : public DeviceEvidenceSource {
 public:
  explicit NvmlDevices(std::string library) : library_(std::move(library)) {}

  [[nodiscard]] Result<std::vector<ListedDevice>> list() override {
    std::vector<ListedDevice> all;
    ASSAY_TRY(each([&](const NvmlSession&, NvmlSession::Found found) -> Status {
      all.push_back(std::move(found.device));
      return {};
    }));
    return all;
  }

  [[nodiscard]] Result<std::vector<PresentedDevice>> collect(const Nonce& nonce) override {
    std::vector<PresentedDevice> all;
    ASSAY_TRY(each([&](const NvmlSession& session, const NvmlSession::Found& found) -> Status {
      if (all.size() >= kMaxPresentedDevices) {
        return fail(ErrorCode::kLimitExceeded,
                    "This machine has more devices than an enrolment takes");
      }
      ASSAY_ASSIGN(PresentedDevice device, session.ask(found, nonce));
      all.push_back(std::move(device));
      return {};
    }));
    return all;
  }

 private:
  template <typename Do>
  [[nodiscard]] Status each(const Do& act) const {
    NvmlSession session(library_);
    ASSAY_TRY(session.open());
    ASSAY_ASSIGN(const std::string mode, session.mode());
    ASSAY_ASSIGN(const unsigned count, session.count());
    for (unsigned i = 0; i < count; ++i) {
      ASSAY_ASSIGN(auto found, session.device(i, mode));
      ASSAY_TRY(act(session, std::move(found)));
    }
    return {};
  }

  std::string library_;
};

}  // namespace

std::unique_ptr<DeviceEvidenceSource> make_nvml_devices(std::string library) {
  return std::make_unique<NvmlDevices>(std::move(library));
}

}  // namespace assay::attestation
