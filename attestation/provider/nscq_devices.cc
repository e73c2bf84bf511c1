// SPDX-License-Identifier: Apache-2.0
// Evidence of NVSwitches. NSCQ answers a path with one call of a function for each device. The
// names, paths and layouts are those of its version 2.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "attestation/provider/device_evidence.h"
#include "attestation/provider/library.h"

namespace assay::attestation {
namespace {

// The binary interface, as far as it is used here.
constexpr std::uint32_t kMountDevices = 1;
constexpr std::int8_t kNscqLs10 = 2;
constexpr std::uint8_t kTrustedLinks = 1;  // bit of the PCIe mode: protected
constexpr std::size_t kMaxSwitches = 64;
struct NscqSession;
struct NscqUuid {
  std::array<std::uint8_t, 16> bytes;
};
struct NscqLabel {
  std::array<std::uint8_t, 64> text;
};
struct NscqReport {
  std::uint32_t size;
  std::array<std::uint8_t, 0x2000> bytes;
};
struct NscqChain {
  std::array<std::uint8_t, 0x1400> bytes;
  std::uint32_t size;
};
struct NscqOpened {
  std::int8_t code;
  NscqSession* session;
};
using NscqCallback = void (*)();

// All that the paths say of one switch.
struct SwitchAnswer {
  std::int8_t architecture = -1;
  std::int8_t mode = 0;
  Bytes report{};
  Bytes certificates{};
};
// The library's calls write here. Further devices than kMaxSwitches are counted alone.
struct Answers {
  std::map<std::array<std::uint8_t, 16>, SwitchAnswer> switches;
  std::int8_t code = 0;
  bool is_oversize = false;

  // Null for a call that must not be used.
  SwitchAnswer* of(const NscqUuid* device, std::int8_t result) {
    if (result < 0 || device == nullptr) {
      code = result < 0 ? result : std::int8_t{-128};
      return nullptr;
    }
    const auto found = switches.find(device->bytes);
    if (found != switches.end()) {
      return &found->second;
    }
    if (switches.size() >= kMaxSwitches) {
      is_oversize = true;
      return nullptr;
    }
    return &switches[device->bytes];
  }
  void take(Bytes SwitchAnswer::* member, const NscqUuid* device, std::int8_t result,
            ByteView bytes, std::size_t size) {
    SwitchAnswer* const one = of(device, result);
    if (size > bytes.size()) {
      is_oversize = true;
    } else if (one != nullptr) {
      const ByteView filled = bytes.first(size);
      (one->*member).assign(filled.begin(), filled.end());
    }
  }
};

void on_architecture(const NscqUuid* device, std::int8_t code, std::int8_t value, void* data) {
  if (SwitchAnswer* const one = static_cast<Answers*>(data)->of(device, code)) {
    one->architecture = value;
  }
}
void on_mode(const NscqUuid* device, std::int8_t code, std::int8_t value, void* data) {
  if (SwitchAnswer* const one = static_cast<Answers*>(data)->of(device, code)) {
    one->mode = value;
  }
}
// Structures come by value, as the interface passes them.
void on_report(const NscqUuid* device, std::int8_t code, NscqReport value, void* data) {
  static_cast<Answers*>(data)->take(&SwitchAnswer::report, device, code, value.bytes, value.size);
}
void on_chain(const NscqUuid* device, std::int8_t code, NscqChain value, void* data) {
  static_cast<Answers*>(data)->take(&SwitchAnswer::certificates, device, code, value.bytes,
                                    value.size);
}

std::unexpected<Error> nscq_failed(const char* what, int code) {
  return fail(ErrorCode::kDeviceFailed,
              "NSCQ: " + std::string(what) + " failed with code " + std::to_string(code));
}

class Nscq {
 public:
  explicit Nscq(const std::string& name) : library_(name) {}
  ~Nscq() {
    if (session_ != nullptr) {
      destroy_(session_);
    }
  }
  Nscq(const Nscq&) = delete;
  Nscq& operator=(const Nscq&) = delete;

  [[nodiscard]] Status open() {
    if (!library_.is_open()) {
      return fail(ErrorCode::kDeviceNotFound,
                  "NSCQ is not there: install libnvidia-nscq of the driver's version");
    }
    NscqOpened (*create)(std::uint32_t) = nullptr;
    if (!library_.find("nscq_session_create", create) ||
        !library_.find("nscq_session_destroy", destroy_) ||
        !library_.find("nscq_session_path_observe", observe_) ||
        !library_.find("nscq_session_set_input", input_) ||
        !library_.find("nscq_uuid_to_label", label_)) {
      return fail(ErrorCode::kDeviceNotFound, "NSCQ lacks a function: it is too old");
    }
    const NscqOpened opened = create(kMountDevices);
    if (opened.code < 0 || opened.session == nullptr) {
      return nscq_failed("nscq_session_create", opened.code);
    }
    session_ = opened.session;
    return {};
  }

  template <typename Callback>
  [[nodiscard]] Status observe(const char* path, Callback* callback, Answers& answers) const {
    const std::int8_t code =
        observe_(session_, path, reinterpret_cast<NscqCallback>(callback), &answers, 0);
    if (code < 0 || answers.code < 0) {
      return nscq_failed(path, code < 0 ? code : answers.code);
    }
    if (answers.is_oversize) {
      return fail(ErrorCode::kLimitExceeded, "NSCQ answers with more than there can be");
    }
    return {};
  }
  // The library may keep the pointer: `nonce` must outlive what is observed.
  [[nodiscard]] Status set_nonce(Nonce& nonce) const {
    const std::int8_t code =
        input_(session_, 0, nonce.data(), static_cast<std::uint32_t>(nonce.size()));
    return code < 0 ? Status(nscq_failed("nscq_session_set_input", code)) : Status();
  }
  [[nodiscard]] Result<std::string> label(const std::array<std::uint8_t, 16>& uuid) const {
    const NscqUuid name{uuid};
    NscqLabel label{};
    if (const std::int8_t code = label_(&name, &label, 0); code < 0) {
      return nscq_failed("nscq_uuid_to_label", code);
    }
    return read_uuid(label.text);
  }

 private:
  DriverLibrary library_;
  NscqSession* session_ = nullptr;
  void (*destroy_)(NscqSession*) = nullptr;
  std::int8_t (*observe_)(NscqSession*, const char*, NscqCallback, void*, std::uint32_t) = nullptr;
  std::int8_t (*input_)(NscqSession*, std::uint32_t, void*, std::uint32_t) = nullptr;
  std::int8_t (*label_)(const NscqUuid*, NscqLabel*, std::uint32_t) = nullptr;
};

class NscqDevices final : public DeviceEvidenceSource {
 public:
  explicit NscqDevices(std::string library) : library_(std::move(library)) {}

  [[nodiscard]] Result<std::vector<ListedDevice>> list() override {
    Nscq nscq(library_);
    ASSAY_TRY(nscq.open());
    ASSAY_ASSIGN(const Answers answers, states(nscq));
    std::vector<ListedDevice> all;
    for (const auto& [uuid, answer] : answers.switches) {
      ASSAY_ASSIGN(std::string label, nscq.label(uuid));
      all.push_back({std::move(label), "switch", answer.architecture == kNscqLs10 ? "LS10" : "",
                     is_protected(answer) ? "ppcie" : "off"});
    }
    return all;
  }

  [[nodiscard]] Result<std::vector<PresentedDevice>> collect(const Nonce& nonce) override {
    Nscq nscq(library_);
    ASSAY_TRY(nscq.open());
    ASSAY_ASSIGN(Answers answers, states(nscq));
    for (const auto& [uuid, answer] : answers.switches) {
      if (answer.architecture != kNscqLs10 || !is_protected(answer)) {
        ASSAY_ASSIGN(const std::string label, nscq.label(uuid));
        return fail(ErrorCode::kDeviceNotConfidential,
                    "The switch " + label + " is not in protected mode");
      }
    }
    Nonce input = nonce;
    ASSAY_TRY(nscq.set_nonce(input));
    ASSAY_TRY(nscq.observe("/{nvswitch}/config/attestation_report", on_report, answers));
    ASSAY_TRY(nscq.observe("/{nvswitch}/config/certificate", on_chain, answers));
    std::vector<PresentedDevice> all;
    for (const auto& [uuid, answer] : answers.switches) {
      ASSAY_ASSIGN(std::string label, nscq.label(uuid));
      ASSAY_ASSIGN(
          PresentedDevice device,
          present_device({std::move(label), "LS10", answer.report, answer.certificates}, nonce));
      all.push_back(std::move(device));
    }
    return all;
  }

 private:
  [[nodiscard]] static Result<Answers> states(const Nscq& nscq) {
    Answers answers;
    ASSAY_TRY(nscq.observe("/{nvswitch}/id/arch", on_architecture, answers));
    ASSAY_TRY(nscq.observe("/{nvswitch}/config/pcie_mode", on_mode, answers));
    return answers;
  }
  [[nodiscard]] static bool is_protected(const SwitchAnswer& answer) {
    return answer.mode > 0 && (static_cast<std::uint8_t>(answer.mode) & kTrustedLinks) != 0;
  }

  std::string library_;
};

}  // namespace

std::unique_ptr<DeviceEvidenceSource> make_nscq_devices(std::string library) {
  return std::make_unique<NscqDevices>(std::move(library));
}

}  // namespace assay::attestation
