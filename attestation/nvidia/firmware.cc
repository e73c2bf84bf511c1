// SPDX-License-Identifier: Apache-2.0
// Opaque fields, as NVIDIA's attestation SDK reads them.
#include "attestation/nvidia/firmware.h"

#include <algorithm>
#include <array>
#include <set>

namespace assay::attestation::nvidia {
namespace {

constexpr std::size_t kMaxTextBytes = 64;
constexpr std::size_t kPdiBytes = 8;
constexpr std::size_t kGpusOfSwitch = 8;  // behind them the field says which port leads to which
constexpr std::size_t kMaxLinks = 256;
constexpr std::uint64_t kNewestDataVersion = 1;
constexpr std::uint8_t kOff = 0x55;
constexpr std::uint8_t kOn = 0xaa;
constexpr std::uint64_t kFeatureProtectedPcie = 2;  // 0 and 1: several or one GPU passed through
// The only board of an LS10, whose report does not name it.
constexpr std::string_view kSwitchBoard = "5612_0002_890";

std::string type_text(OpaqueType type) { return std::to_string(std::to_underlying(type)); }

std::unexpected<Failure> bad_field(OpaqueType type) {
  return reject(NvidiaError::kOpaqueFormat, {}, {}, type_text(type));
}

// Text up to its NULs, of characters that names and versions have.
Checked<std::string> text_field(const ReportView& report, OpaqueType type) {
  const auto field = report.field(type);
  if (!field) {
    return reject(NvidiaError::kOpaqueMissing, {}, {}, type_text(type));
  }
  std::string_view text = as_text(*field);
  text = text.substr(0, text.find_last_not_of('\0') + 1);
  const bool is_name = std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' ||
           c == '-';
  });
  if (text.empty() || text.size() > kMaxTextBytes || !is_name) {
    return bad_field(type);
  }
  return std::string(text);
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

// Little-endian; nothing for an absent field.
Checked<std::optional<std::uint64_t>> number_field(const ReportView& report, OpaqueType type) {
  const auto field = report.field(type);
  if (!field) {
    return std::optional<std::uint64_t>();
  }
  if (field->empty() || field->size() > sizeof(std::uint64_t)) {
    return bad_field(type);
  }
  std::uint64_t value = 0;
  for (std::size_t i = field->size(); i-- > 0;) {
    value = value << 8 | (*field)[i];
  }
  return std::optional(value);
}

Checked<std::optional<bool>> switch_field(const ReportView& report, OpaqueType type) {
  const auto field = report.field(type);
  if (!field) {
    return std::optional<bool>();
  }
  if (field->size() != 1 || (field->front() != kOff && field->front() != kOn)) {
    return bad_field(type);
  }
  return std::optional(field->front() == kOn);
}

// Eight bytes 00 74 00 96 20 00 00 00 are the version 96.00.74.00.20.
Checked<std::string> vbios_of_gpu(const ReportView& report) {
  const auto field = report.field(OpaqueType::kVbiosVersion);
  if (!field) {
    return reject(NvidiaError::kOpaqueMissing, {}, {}, type_text(OpaqueType::kVbiosVersion));
  }
  if (field->size() != 8) {
    return bad_field(OpaqueType::kVbiosVersion);
  }
  std::string text;
  for (const std::size_t at : {3U, 2U, 1U, 0U, 4U}) {
    text += (text.empty() ? "" : ".") + upper_case(hex_encode(field->subspan(at, 1)));
  }
  return text;
}

std::string without_dots(std::string text) {
  std::erase(text, '.');
  return text;
}

Checked<DeviceMode> mode_of(const ReportView& report) {
  const auto feature = number_field(report, OpaqueType::kFeatureFlag);
  if (!feature) {
    return std::unexpected(feature.error());
  }
  const auto is_protected = switch_field(report, OpaqueType::kProtectedPcie);
  if (!is_protected) {
    return std::unexpected(is_protected.error());
  }
  if (*feature && **feature > kFeatureProtectedPcie) {
    return bad_field(OpaqueType::kFeatureFlag);
  }
  const bool by_feature = *feature && **feature == kFeatureProtectedPcie;
  const bool by_status = is_protected->value_or(false);
  if (*feature && *is_protected && by_feature != by_status) {
    return reject(NvidiaError::kModeContradiction);
  }
  return by_feature || by_status ? DeviceMode::kProtectedPcie : DeviceMode::kConfidential;
}

// Reports write an identity with its lowest byte first, or last.
std::string pdi_text(ByteView bytes, bool is_reversed) {
  Bytes pdi(bytes.begin(), bytes.end());
  if (is_reversed) {
    std::ranges::reverse(pdi);
  }
  return hex_encode(pdi);
}

// Zeros stand for a link that is off.
std::vector<std::string> pdis_of(ByteView bytes, bool is_reversed) {
  static const std::string kNone(2 * kPdiBytes, '0');
  std::set<std::string> all;
  for (; bytes.size() >= kPdiBytes; bytes = bytes.subspan(kPdiBytes)) {
    all.insert(pdi_text(bytes.first(kPdiBytes), is_reversed));
  }
  all.erase(kNone);
  return {all.begin(), all.end()};
}

Outcome read_gpu(const ReportView& report, const DeviceChain& device, FirmwareFacts& facts) {
  const auto driver = text_field(report, OpaqueType::kDriverVersion);
  const auto vbios = vbios_of_gpu(report);
  const auto project = text_field(report, OpaqueType::kProject);
  const auto project_sku = text_field(report, OpaqueType::kProjectSku);
  const auto chip_sku = text_field(report, OpaqueType::kChipSku);
  for (const auto* field : {&driver, &vbios, &project, &project_sku, &chip_sku}) {
    if (!*field) {
      return std::unexpected(field->error());
    }
  }
  facts.driver = *driver;
  facts.vbios = *vbios;
  std::string driver_id = "NV_GPU_DRIVER_GH100_";
  if (device.architecture == Architecture::kBlackwell) {
    const auto chip = report.field(OpaqueType::kChipInfo)
                          ? text_field(report, OpaqueType::kChipInfo)
                          : Checked<std::string>("GB100");
    if (!chip) {
      return std::unexpected(chip.error());
    }
    driver_id = "NV_GPU_CC_DRIVER_" + upper_case(*chip) + "_";
  }
  facts.wanted = {{RimSource::kDriver, driver_id + *driver},
                  {RimSource::kVbios,
                   "NV_GPU_VBIOS_" + upper_case(*project + "_" + *project_sku + "_" + *chip_sku) +
                       "_" + without_dots(*vbios)}};
  const auto links = report.field(OpaqueType::kPdi).value_or(ByteView());
  if (links.size() % kPdiBytes != 0 || links.size() > kMaxLinks * kPdiBytes) {
    return bad_field(OpaqueType::kPdi);
  }
  facts.neighbours = pdis_of(links, true);
  return {};
}

Outcome read_switch(const ReportView& report, const DeviceChain& device, FirmwareFacts& facts) {
  const auto bios = text_field(report, OpaqueType::kVbiosVersion);
  if (!bios) {
    return std::unexpected(bios.error());
  }
  facts.vbios = upper_case(*bios);
  facts.wanted = {{RimSource::kVbios, "NV_SWITCH_BIOS_" + std::string(kSwitchBoard) + "_" +
                                          without_dots(facts.vbios)}};
  const auto own = report.field(OpaqueType::kPdi);
  if (!own || own->size() != kPdiBytes) {
    return own ? bad_field(OpaqueType::kPdi)
               : reject(NvidiaError::kOpaqueMissing, {}, {}, type_text(OpaqueType::kPdi));
  }
  if (device.pdi && pdi_text(*own, false) != *device.pdi) {
    return reject(NvidiaError::kOpaqueFormat, *device.pdi, pdi_text(*own, false),
                  type_text(OpaqueType::kPdi));
  }
  if (const auto gpus = report.field(OpaqueType::kGpuPdis)) {
    if (gpus->size() < kGpusOfSwitch * kPdiBytes) {
      return bad_field(OpaqueType::kGpuPdis);
    }
    facts.neighbours = pdis_of(gpus->first(kGpusOfSwitch * kPdiBytes), false);
  }
  return {};
}

}  // namespace

std::string_view name(DeviceMode mode) {
  return mode == DeviceMode::kConfidential ? "cc" : "ppcie";
}

Checked<FirmwareFacts> read_firmware(const ReportView& report, const DeviceChain& device) {
  const auto version = number_field(report, OpaqueType::kDataVersion);
  if (!version) {
    return std::unexpected(version.error());
  }
  if (version->value_or(0) > kNewestDataVersion) {
    return reject(NvidiaError::kOpaqueVersion, std::to_string(kNewestDataVersion),
                  std::to_string(**version));
  }
  FirmwareFacts facts;
  const auto mode = mode_of(report);
  if (!mode) {
    return std::unexpected(mode.error());
  }
  facts.mode = *mode;
  const auto nvdec = switch_field(report, OpaqueType::kNvdec0Status);
  if (!nvdec) {
    return std::unexpected(nvdec.error());
  }
  facts.has_nvdec = *nvdec;
  const auto read = device.kind == DeviceKind::kGpu ? read_gpu(report, device, facts)
                                                    : read_switch(report, device, facts);
  if (!read) {
    return std::unexpected(read.error());
  }
  return facts;
}

}  // namespace assay::attestation::nvidia
