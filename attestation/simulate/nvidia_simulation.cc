// SPDX-License-Identifier: Apache-2.0
// Sound devices, and how they become bytes.
#include "attestation/simulate/nvidia_simulation.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "attestation/simulate/der_writer.h"
#include "attestation/simulate/pki.h"
#include "schemas/core/sha.h"

namespace assay::attestation::nvidia {
namespace {

namespace x690 = tdx::der;

constexpr std::string_view kRootName = "Simulated NVIDIA Root CA";
constexpr std::string_view kDriverVersion = "570.172.08";
constexpr std::string_view kGpuVbios = "96.00.D0.00.03";
constexpr std::string_view kSwitchBios = "96.10.73.00.01";
constexpr int kMeasurements = 64;
constexpr int kOfVbios = 9;  // measurements before this one are of the VBIOS, others of the driver
constexpr unsigned kBoardGpus = 8;
constexpr unsigned kBoardSwitches = 4;
constexpr std::uint8_t kSecure = 0x80;  // flags of TcbInfo

Timestamp new_year(int year) {
  return std::chrono::sys_days(std::chrono::year(year) / std::chrono::January / 1);
}

// Bytes that follow from the seed, 48 at most.
Bytes from_seed(ByteView seed, std::string_view label, std::size_t size) {
  const Digest digest = sha(HashAlgorithm::kSha384,
                            {as_bytes("assay simulated NVIDIA value"), seed, as_bytes(label)});
  return {digest.bytes().begin(), digest.bytes().begin() + static_cast<std::ptrdiff_t>(size)};
}

bool is_switch(Architecture architecture) { return architecture == Architecture::kLs10; }

std::string chip_of(Architecture architecture) {
  switch (architecture) {
    case Architecture::kHopper:
      return "GH100";
    case Architecture::kBlackwell:
      return "GB100";
    default:
      return "LS_10";
  }
}

// "gpu 3": under which a device's keys and values are made.
std::string label_of(Architecture architecture, unsigned number) {
  return (is_switch(architecture) ? "switch " : "gpu ") + std::to_string(number);
}

Bytes pdi_of_device(ByteView seed, Architecture architecture, unsigned number) {
  return from_seed(seed, "pdi " + label_of(architecture, number), 8);
}

// "GPU-01234567-89ab-cdef-0123-456789abcdef"
std::string uuid_of(ByteView seed, const DeviceChoice& device) {
  const std::string label = label_of(device.architecture, device.number);
  std::string text = hex_encode(from_seed(seed, "uuid " + label, 16));
  for (const std::size_t at : {20U, 16U, 12U, 8U}) {
    text.insert(at, "-");
  }
  return (is_switch(device.architecture) ? "SWX-" : "GPU-") + text;
}

Bytes measured(ByteView seed, Architecture architecture, int index) {
  return from_seed(seed, "measurement " + chip_of(architecture) + " " + std::to_string(index), 48);
}

Bytes fwid_value(ByteView seed, Architecture architecture) {
  return from_seed(seed, "fwid " + chip_of(architecture), 48);
}

FwidForm fwid_form(Architecture architecture) {
  switch (architecture) {
    case Architecture::kHopper:
      return FwidForm::kHopper;
    case Architecture::kBlackwell:
      return FwidForm::kBlackwell;
    default:
      return FwidForm::kNone;
  }
}

// --- certificates

SimulatedAnswer good_answer(Timestamp now) {
  const Timestamp second = std::chrono::floor<std::chrono::seconds>(now);
  return {CertificateState::kGood, second - std::chrono::days(1), second + std::chrono::days(29)};
}

SimulatedCertificate issued(std::string subject, const SimulatedCertificate& issuer,
                            std::string key, Bytes serial, bool is_ca) {
  return {.subject = std::move(subject),
          .issuer = issuer.subject,
          .serial = std::move(serial),
          .not_before = new_year(2020),
          .not_after = new_year(2049),
          .is_ca = is_ca,
          .key = std::move(key),
          .signer = issuer.key};
}

SimulatedCertificate root_certificate() {
  SimulatedCertificate root;
  root.subject = kRootName;
  root.key = "root";
  root = issued(root.subject, root, root.key, {1}, true);
  return root;
}

// DSP0274: a name of the type "device information".
Bytes device_information(const std::string& text) {
  const Bytes name = x690::context(0, x690::utf8(text));
  Bytes content = x690::oid("1.3.6.1.4.1.412.274.1");
  content.insert(content.end(), name.begin(), name.end());
  return x690::sequence({x690::context(0, content)});
}

std::vector<SimulatedCertificate> device_certificates(ByteView seed, Timestamp now,
                                                      const DeviceChoice& device) {
  const std::string chip = chip_of(device.architecture);
  const std::string label = label_of(device.architecture, device.number);
  const Bytes pdi = pdi_of_device(seed, device.architecture, device.number);
  const SimulatedCertificate root = root_certificate();
  SimulatedCertificate identity =
      issued("Simulated " + chip + " Identity", root, chip + " identity", {2}, true);
  SimulatedCertificate provisioner =
      issued("Simulated " + chip + " Provisioner", identity, chip + " provisioner", {3}, true);
  Bytes serial = {is_switch(device.architecture) ? std::uint8_t{0x50} : std::uint8_t{0x41}};
  serial.insert(serial.end(), pdi.begin(), pdi.end());
  SimulatedCertificate own =
      issued("Simulated " + chip + " " + label, provisioner, "device " + label, serial, true);
  for (SimulatedCertificate* one : {&identity, &provisioner, &own}) {
    one->answer = good_answer(now);
  }
  SimulatedCertificate leaf =
      issued("Simulated " + chip + " firmware", own, "firmware " + label, {4}, false);
  leaf.extensions.emplace_back("2.5.29.17",
                               device_information("NVIDIA:" + chip + ":48B0" + hex_encode(pdi)));
  return {leaf, own, provisioner, identity, root};
}

std::vector<SimulatedCertificate> rim_certificates(Timestamp now) {
  const SimulatedCertificate root = root_certificate();
  SimulatedCertificate ca = issued("Simulated RIM CA", root, "rim ca", {5}, true);
  SimulatedCertificate leaf = issued("Simulated RIM signer", ca, "rim signer", {6}, false);
  ca.answer = leaf.answer = good_answer(now);
  return {leaf, ca, root};
}

// --- reports

Bytes text_with_end(std::string_view text) {
  Bytes bytes = to_bytes(text);
  bytes.push_back(0);
  return bytes;
}

// The version 96.00.D0.00.03 is 00 D0 00 96 03 00 00 00.
Bytes vbios_field() { return {0x00, 0xd0, 0x00, 0x96, 0x03, 0, 0, 0}; }

void fill_gpu(ByteView seed, const DeviceChoice& device, ReportSpec& report) {
  const bool is_protected = device.mode == DeviceMode::kProtectedPcie;
  report.opaque = {{3, text_with_end(kDriverVersion)},
                   {6, vbios_field()},
                   {11, {0xaa}},
                   {15, text_with_end("895")},
                   {17, text_with_end("1010")},
                   {18, text_with_end("0200")},
                   {20, fwid_value(seed, device.architecture)},
                   {21, {is_protected ? std::uint8_t{0xaa} : std::uint8_t{0x55}}}};
  if (is_protected) {
    Bytes links;
    const unsigned first = device.number / kBoardGpus * kBoardSwitches;
    for (unsigned i = 0; i < kBoardSwitches; ++i) {
      const Bytes pdi = pdi_of_device(seed, Architecture::kLs10, first + i);
      links.insert(links.end(), pdi.rbegin(), pdi.rend());
    }
    report.opaque.emplace_back(22, links);
  }
  report.opaque.emplace_back(34, Bytes{1, 0});
  if (device.architecture == Architecture::kBlackwell) {
    report.opaque.emplace_back(35, text_with_end(chip_of(device.architecture)));
  }
  report.opaque.emplace_back(36, Bytes{is_protected ? std::uint8_t{2} : std::uint8_t{0}, 0});
}

void fill_switch(ByteView seed, const DeviceChoice& device, ReportSpec& report) {
  Bytes gpus;
  const unsigned first = device.number / kBoardSwitches * kBoardGpus;
  for (unsigned i = 0; i < kBoardGpus; ++i) {
    const Bytes pdi = pdi_of_device(seed, Architecture::kHopper, first + i);
    gpus.insert(gpus.end(), pdi.begin(), pdi.end());
  }
  report.opaque = {{6, text_with_end(kSwitchBios)},
                   {11, {0xaa}},
                   {22, pdi_of_device(seed, device.architecture, device.number)},
                   {26, gpus}};
}

// --- RIMs

RimResource golden(ByteView seed, Architecture architecture, int index) {
  return {index, {measured(seed, architecture, index)}};
}

std::vector<SimulatedRim> rims_of(ByteView seed, Timestamp now, Architecture architecture) {
  RimSpec vbios{.product = chip_of(architecture), .version = std::string(kGpuVbios)};
  if (is_switch(architecture)) {
    vbios.edition = "SWITCH";
    vbios.version = kSwitchBios;
    for (int i = 0; i < kMeasurements; ++i) {
      vbios.resources.push_back(golden(seed, architecture, i));
    }
    return {{"NV_SWITCH_BIOS_5612_0002_890_9610730001", vbios, rim_certificates(now)}};
  }
  RimSpec driver{.product = chip_of(architecture), .version = std::string(kDriverVersion)};
  for (int i = 0; i < kMeasurements; ++i) {
    (i < kOfVbios ? vbios : driver).resources.push_back(golden(seed, architecture, i));
  }
  return {{(architecture == Architecture::kHopper ? "NV_GPU_DRIVER_" : "NV_GPU_CC_DRIVER_") +
               chip_of(architecture) + "_" + std::string(kDriverVersion),
           driver, rim_certificates(now)},
          {"NV_GPU_VBIOS_1010_0200_895_9600D00003", vbios, rim_certificates(now)}};
}

// --- bytes

RawSigner signer_of_label(ByteView seed, const std::string& label) {
  return [seed = Bytes(seed.begin(), seed.end()), label](ByteView message) {
    const auto signature = simulated_key(seed, label).sign(message);
    return Bytes(signature.begin(), signature.end());
  };
}

struct MadeChain {
  std::vector<Bytes> der;
  std::vector<std::string> pem;
};

MadeChain make_chain(const std::vector<SimulatedCertificate>& chain, ByteView seed) {
  MadeChain made;
  for (const SimulatedCertificate& one : chain) {
    made.der.push_back(make_certificate(one, seed));
    made.pem.push_back(tdx::to_pem(made.der.back()));
  }
  return made;
}

std::string joined(std::span<const std::string> parts) {
  std::string all;
  for (const std::string& part : parts) {
    all += part;
  }
  return all;
}

void add_answers(const std::vector<SimulatedCertificate>& chain, const MadeChain& made,
                 ByteView seed, Json& collateral) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (chain[i].answer) {
      const std::string hex = sha256(made.der[i]).hex();
      collateral["ocsp/" + hex] = base64_encode(make_answer(chain[i], *chain[i].answer, seed));
      collateral["chain/" + hex] = joined(std::span(made.pem).subspan(i));
    }
  }
}

}  // namespace

NvidiaSimulationSpec valid_nvidia_simulation(ByteView seed, Timestamp now,
                                             const DeviceChoice& device, const Nonce& nonce) {
  NvidiaSimulationSpec spec{.seed = Bytes(seed.begin(), seed.end()),
                            .now = now,
                            .device = device,
                            .uuid = uuid_of(seed, device),
                            .report = {},
                            .report_signer = {},
                            .chain = device_certificates(seed, now, device),
                            .rims = rims_of(seed, now, device.architecture)};
  spec.report.nonce = nonce;
  for (int i = 0; i < kMeasurements; ++i) {
    spec.report.measurements.emplace_back(static_cast<std::uint8_t>(i + 1),
                                          measured(seed, device.architecture, i));
  }
  (is_switch(device.architecture) ? fill_switch : fill_gpu)(seed, device, spec.report);
  spec.report_signer = spec.chain.front().key;
  set_leaf_firmware(spec, fwid_value(seed, device.architecture), kSecure);
  return spec;
}

void set_leaf_firmware(NvidiaSimulationSpec& spec, ByteView fwid, std::uint8_t flags) {
  const FwidForm form = fwid_form(spec.device.architecture);
  auto& extensions = spec.chain.front().extensions;
  extensions.resize(1);  // the name
  if (form != FwidForm::kNone) {
    const Bytes spki = simulated_key(spec.seed, spec.chain[1].key).spki();
    extensions.push_back(make_fwid(form, fwid, spki, flags));
  }
}

void set_driver(NvidiaSimulationSpec& spec, const std::string& version) {
  set_field(spec.report, 3, text_with_end(version));
  SimulatedRim& rim = spec.rims.front();
  rim.id = rim.id.substr(0, rim.id.rfind('_') + 1) + version;
  rim.content.version = version;
}

NvidiaSimulation simulate(const NvidiaSimulationSpec& spec) {
  const MadeChain chain = make_chain(spec.chain, spec.seed);
  const Bytes report = make_report(spec.report, signer_of_label(spec.seed, spec.report_signer));
  NvidiaSimulation made;
  made.uuid = spec.uuid;
  made.root = chain.der.back();
  made.evidence = {{"arch", name(spec.device.architecture)},
                   {"nonce", hex_encode(spec.report.nonce)},
                   {"evidence", base64_encode(report)},
                   {"certificate", base64_encode(as_bytes(joined(chain.pem)))}};
  made.collateral = Json::object();
  add_answers(spec.chain, chain, spec.seed, made.collateral);
  for (const SimulatedRim& rim : spec.rims) {
    const MadeChain of_rim = make_chain(rim.chain, spec.seed);
    add_answers(rim.chain, of_rim, spec.seed, made.collateral);
    made.collateral["rim/" + rim.id] =
        make_rim(rim.content, of_rim.der, signer_of_label(spec.seed, rim.chain.front().key));
  }
  return made;
}

}  // namespace assay::attestation::nvidia
