// SPDX-License-Identifier: Apache-2.0
// The table of faults.
#include "attestation/simulate/nvidia_faults.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace assay::attestation::nvidia {
namespace {

using DeviceSpec = NvidiaSimulationSpec;
using std::chrono::days;

constexpr std::string_view kOlderDriver = "550.54.15";
constexpr std::uint8_t kDebugFlags = 0x90;

// The report of evidence, changed.
void change_report(NvidiaSimulation& made, void (*change)(Bytes&)) {
  Bytes report = base64_decode(made.evidence["evidence"].get<std::string>()).value();
  change(report);
  made.evidence["evidence"] = base64_encode(report);
}

void set_answer(SimulatedCertificate& certificate, CertificateState state) {
  certificate.answer->state = state;
}

// A leaf that ended a day before the evidence was made.
void end_leaf(std::vector<SimulatedCertificate>& chain, const DeviceSpec& spec) {
  chain.front().not_after = std::chrono::floor<std::chrono::seconds>(spec.now) - days(1);
}

// Only TcbInfo, which Blackwell has, says that a device can be debugged.
void to_debugging(DeviceSpec& spec) {
  DeviceChoice device = spec.device;
  device.architecture = Architecture::kBlackwell;
  spec = valid_nvidia_simulation(spec.seed, spec.now, device, spec.report.nonce);
  const auto fwid =
      std::ranges::find(spec.report.opaque, 20, [](const auto& f) { return f.first; });
  set_leaf_firmware(spec, fwid->second, kDebugFlags);
}

constexpr auto kDeviceFaults = std::to_array<DeviceFault>({
    {.name = "no-report", .error = "EVIDENCE_FORMAT:0",
     .made = [](NvidiaSimulation& m) { m.evidence.erase("evidence"); }},
    {.name = "truncated", .error = "REPORT_TRUNCATED",
     .made = [](NvidiaSimulation& m) { change_report(m, [](Bytes& r) { r.pop_back(); }); }},
    {.name = "trailing", .error = "REPORT_TRAILING",
     .made = [](NvidiaSimulation& m) { change_report(m, [](Bytes& r) { r.push_back(0); }); }},
    {.name = "request-version", .error = "REQUEST_FORMAT",
     .spec = [](DeviceSpec& s) { s.report.request_header[0] = 0x12; }},
    {.name = "response-version", .error = "RESPONSE_FORMAT",
     .spec = [](DeviceSpec& s) { s.report.response_header[0] = 0x12; }},
    {.name = "doubled-measurement", .error = "MEASUREMENT_FORMAT",
     .spec = [](DeviceSpec& s) { s.report.measurements[2].first = 2; }},
    {.name = "feature", .error = "OPAQUE_FORMAT:36",
     .spec = [](DeviceSpec& s) { set_field(s.report, 36, Bytes{3, 0}); }},
    {.name = "doubled-field", .error = "OPAQUE_DOUBLED",
     .spec = [](DeviceSpec& s) { s.report.opaque.push_back(s.report.opaque.front()); }},
    {.name = "no-driver-version", .error = "OPAQUE_MISSING:3",
     .spec = [](DeviceSpec& s) { set_field(s.report, 3, std::nullopt); }},
    {.name = "newer-fields", .error = "OPAQUE_VERSION",
     .spec = [](DeviceSpec& s) { set_field(s.report, 34, Bytes{2, 0}); }},
    {.name = "mode", .error = "MODE_CONTRADICTION",
     .spec = [](DeviceSpec& s) { set_field(s.report, 36, Bytes{2, 0}); }},
    {.name = "short-chain", .error = "DEVICE_CHAIN_SHAPE",
     .spec = [](DeviceSpec& s) { s.chain.erase(s.chain.begin() + 3); }},
    {.name = "root", .error = "DEVICE_CHAIN_UNTRUSTED",
     .spec = [](DeviceSpec& s) { s.chain.back().serial = {7}; }},
    {.name = "chain-signer", .error = "DEVICE_CHAIN_UNTRUSTED",
     .spec = [](DeviceSpec& s) { s.chain[1].signer = "somebody"; }},
    {.name = "expired-chain", .error = "DEVICE_CHAIN_EXPIRED",
     .spec = [](DeviceSpec& s) { end_leaf(s.chain, s); }},
    {.name = "architecture", .error = "ARCHITECTURE_MISMATCH",
     .made = [](NvidiaSimulation& m) { m.evidence["arch"] = "BLACKWELL"; }},
    {.name = "firmware-digest", .error = "FWID_MISMATCH",
     .spec = [](DeviceSpec& s) { set_leaf_firmware(s, Bytes(48, 1), 0x80); }},
    {.name = "report-signer", .error = "REPORT_SIGNATURE",
     .spec = [](DeviceSpec& s) { s.report_signer = "somebody"; }},
    {.name = "replayed-nonce", .error = "NONCE_MISMATCH", .needs = "nonce",
     .spec = [](DeviceSpec& s) { s.report.nonce[0] ^= 1; }},
    {.name = "rim-signature", .error = "RIM_MISSING:driver",
     .spec =
         [](DeviceSpec& s) {
           s.rims.front().content.signed_info = [](std::string& info) { info.back() = ' '; };
         }},
    {.name = "expired-rim", .error = "RIM_EXPIRED:driver", .needs = "allow_expired_rim",
     .spec = [](DeviceSpec& s) { end_leaf(s.rims.front().chain, s); }},
    {.name = "rim-conflict", .error = "RIM_CONFLICT:63",
     .spec =
         [](DeviceSpec& s) {
           auto& vbios = s.rims.back().content.resources;
           vbios.push_back(s.rims.front().content.resources.back());
         }},
    {.name = "no-nvdec-status", .error = "NVDEC_STATUS",
     .spec = [](DeviceSpec& s) { set_field(s.report, 11, std::nullopt); }},
    {.name = "firmware", .error = "MEASUREMENT_MISMATCH:driver:17", .needs = "waived",
     .spec = [](DeviceSpec& s) { s.report.measurements[17].second[0] ^= 1; }},
    {.name = "old-driver", .error = "", .needs = "min_driver",
     .spec = [](DeviceSpec& s) { set_driver(s, std::string(kOlderDriver)); }},
    {.name = "debug", .error = "DEBUG_ENABLED", .spec = to_debugging},
    {.name = "revoked", .error = "CERTIFICATE_REVOKED:device",
     .spec = [](DeviceSpec& s) { set_answer(s.chain[1], CertificateState::kRevoked); }},
    {.name = "revoked-rim", .error = "CERTIFICATE_REVOKED:driver",
     .spec =
         [](DeviceSpec& s) {
           // One answer about the signer that driver and VBIOS share would be about both.
           s.rims.front().chain.front().serial = {8};
           set_answer(s.rims.front().chain.front(), CertificateState::kRevoked);
         }},
    {.name = "hold", .error = "CERTIFICATE_HOLD:device", .needs = "allow_certificate_hold",
     .spec = [](DeviceSpec& s) { set_answer(s.chain[1], CertificateState::kHold); }},
    {.name = "unknown", .error = "REVOCATION_UNKNOWN:device", .needs = "require_revocation",
     .spec = [](DeviceSpec& s) { set_answer(s.chain[1], CertificateState::kUnknown); }},
    {.name = "no-answer", .error = "REVOCATION_UNKNOWN:device", .needs = "require_revocation",
     .spec = [](DeviceSpec& s) { s.chain[1].answer.reset(); }},
    {.name = "old-answer", .error = "REVOCATION_UNKNOWN:device", .needs = "require_revocation",
     .spec =
         [](DeviceSpec& s) {
           s.chain[1].answer->this_update -= days(60);
           s.chain[1].answer->next_update -= days(60);
         }},
});

}  // namespace

std::span<const DeviceFault> device_faults() { return kDeviceFaults; }

const DeviceFault* find_device_fault(std::string_view name) {
  const auto found = std::ranges::find(kDeviceFaults, name, &DeviceFault::name);
  return found == kDeviceFaults.end() ? nullptr : &*found;
}

NvidiaSimulation simulate(NvidiaSimulationSpec spec, const DeviceFault& fault) {
  if (fault.spec != nullptr) {
    fault.spec(spec);
  }
  NvidiaSimulation made = simulate(spec);
  if (fault.made != nullptr) {
    fault.made(made);
  }
  return made;
}

}  // namespace assay::attestation::nvidia
