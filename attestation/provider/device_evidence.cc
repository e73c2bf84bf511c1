// SPDX-License-Identifier: Apache-2.0
// Answers of devices, checked as far as a sender can: verifiers do the rest.
#include "attestation/provider/device_evidence.h"

#include <algorithm>
#include <utility>

#include "schemas/core/json.h"

namespace assay::attestation {
namespace {

constexpr std::size_t kMaxReport = 8192;        // as both libraries have room for
constexpr std::size_t kMaxCertificates = 5120;  // likewise
constexpr std::size_t kNonceOffset = 4;         // of the request that begins a report
constexpr std::size_t kMinReport = 37 + 42 + 96;
constexpr std::string_view kPemBegin = "-----BEGIN CERTIFICATE-----";

std::unexpected<Error> no_evidence(const std::string& uuid, const char* why) {
  return fail(ErrorCode::kEvidenceUnavailable, "The device " + uuid + " gives no evidence: " + why);
}

// Both kinds as one source.
class MachineDevices final : public DeviceEvidenceSource {
 public:
  MachineDevices(std::string nvml, std::string nscq)
      : gpus_(make_nvml_devices(std::move(nvml))), switches_(make_nscq_devices(std::move(nscq))) {}

  [[nodiscard]] Result<std::vector<ListedDevice>> list() override {
    ASSAY_ASSIGN(std::vector<ListedDevice> all, gpus_->list());
    if (is_board(all)) {
      ASSAY_ASSIGN(auto more, switches_->list());
      std::ranges::move(more, std::back_inserter(all));
    }
    return all;
  }

  [[nodiscard]] Result<std::vector<PresentedDevice>> collect(const Nonce& nonce) override {
    ASSAY_ASSIGN(const std::vector<ListedDevice> gpus, gpus_->list());
    ASSAY_ASSIGN(std::vector<PresentedDevice> all, gpus_->collect(nonce));
    if (is_board(gpus)) {
      ASSAY_ASSIGN(auto more, switches_->collect(nonce));
      std::ranges::move(more, std::back_inserter(all));
    }
    if (all.size() > kMaxPresentedDevices) {
      return fail(ErrorCode::kLimitExceeded,
                  "This machine has more devices than an enrolment takes");
    }
    return all;
  }

 private:
  static bool is_board(const std::vector<ListedDevice>& gpus) {
    return std::ranges::find(gpus, "ppcie", &ListedDevice::mode) != gpus.end();
  }

  std::unique_ptr<DeviceEvidenceSource> gpus_;
  std::unique_ptr<DeviceEvidenceSource> switches_;
};

}  // namespace

Result<std::string> read_uuid(ByteView buffer) {
  constexpr std::size_t kMaxUuid = 64;
  const auto end = std::ranges::find(buffer, std::uint8_t{0});
  const std::string text(as_text(buffer.first(static_cast<std::size_t>(end - buffer.begin()))));
  const bool is_plain = std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
  if (end == buffer.end() || text.empty() || text.size() > kMaxUuid || !is_plain) {
    return fail(ErrorCode::kEvidenceUnavailable, "The driver names a device by what is no UUID");
  }
  return text;
}

Result<PresentedDevice> present_device(const DeviceAnswer& answer, const Nonce& nonce) {
  if (answer.report.size() < kMinReport || answer.report.size() > kMaxReport ||
      answer.certificates.empty() || answer.certificates.size() > kMaxCertificates) {
    return no_evidence(answer.uuid, "a size that no report or chain has");
  }
  // A report over another nonce would be refused later, with less to go by.
  if (!std::ranges::equal(answer.report.subspan(kNonceOffset, nonce.size()), nonce)) {
    return no_evidence(answer.uuid, "the report answers another nonce");
  }
  std::string_view pem = as_text(answer.certificates);
  pem = pem.substr(0, pem.find('\0'));
  if (!pem.starts_with(kPemBegin)) {
    return no_evidence(answer.uuid, "the chain is no PEM");
  }
  const Json item = {{"arch", answer.architecture},
                     {"nonce", hex_encode(nonce)},
                     {"evidence", base64_encode(answer.report)},
                     {"certificate", base64_encode(as_bytes(pem))}};
  return PresentedDevice{answer.uuid, Evidence{.type = std::string(kNvidiaEvidence),
                                               .quote = to_bytes(item.dump()),
                                               .event_log = {},
                                               .collateral = nullptr,
                                               .media_type = std::string(kNvidiaMediaType)}};
}

std::unique_ptr<DeviceEvidenceSource> make_machine_devices(std::string nvml, std::string nscq) {
  return std::make_unique<MachineDevices>(std::move(nvml), std::move(nscq));
}

}  // namespace assay::attestation
