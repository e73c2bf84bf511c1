// SPDX-License-Identifier: Apache-2.0
// Device chains, through x509::verify_path().
#include "attestation/nvidia/device_chain.h"

#include <algorithm>
#include <array>

#include "attestation/nvidia/fwid.h"
#include "attestation/x509/extensions.h"
#include "attestation/x509/path.h"
#include "schemas/core/sha.h"

namespace assay::attestation::nvidia {
namespace {

constexpr std::size_t kChainLength = 5;
constexpr std::string_view kDeviceInformation = "1.3.6.1.4.1.412.274.1";
constexpr std::string_view kMaker = "NVIDIA:";
constexpr std::size_t kPdiDigits = 16;

struct Chip {
  std::string_view prefix;
  Architecture architecture;
  DeviceKind kind;
  // Begin of the serial number of a device's certificate; the identity follows.
  std::string_view serial_prefix;
};
// Measured at the vectors; a chip that is not here is refused.
constexpr auto kChips = std::to_array<Chip>({
    {"GH1", Architecture::kHopper, DeviceKind::kGpu, "41"},
    {"GB1", Architecture::kBlackwell, DeviceKind::kGpu, "41"},
    {"GB2", Architecture::kBlackwell, DeviceKind::kGpu, "41"},
    {"LS_10", Architecture::kLs10, DeviceKind::kSwitch, "50"},
});

std::unexpected<Failure> from_path(const Error& error) {
  return reject(error.code == ErrorCode::kCertificateUntrusted ? NvidiaError::kDeviceChainUntrusted
                                                               : NvidiaError::kDeviceChainRefused,
                {}, error.detail);
}

// The chip and the serial number of "NVIDIA:GH100:48B02D51C9C1070B".
struct DeviceName {
  std::string chip;
  std::string serial;
};
Checked<DeviceName> device_name(const x509::Certificate& leaf) {
  const auto names = x509::alternative_names(leaf);
  if (!names || names->others.size() != 1 || names->others.front().type != kDeviceInformation ||
      !names->others.front().value.starts_with(kMaker)) {
    return reject(NvidiaError::kDeviceUnknown, "one name NVIDIA:chip:serial number");
  }
  const std::string rest = names->others.front().value.substr(kMaker.size());
  const std::size_t colon = rest.find(':');
  if (colon == std::string::npos || colon + 1 == rest.size()) {
    return reject(NvidiaError::kDeviceUnknown, "one name NVIDIA:chip:serial number");
  }
  return DeviceName{rest.substr(0, colon), rest.substr(colon + 1)};
}

Checked<const Chip*> find_chip(const std::string& name) {
  const auto found =
      std::ranges::find_if(kChips, [&](const Chip& chip) { return name.starts_with(chip.prefix); });
  if (found == kChips.end()) {
    return reject(NvidiaError::kDeviceUnknown, "Hopper, Blackwell or LS10", name);
  }
  return &*found;
}

Checked<std::vector<x509::Certificate>> parse_chain(std::string_view pem) {
  auto parsed = x509::parse_certificates(as_bytes(pem));
  if (!parsed) {
    return reject(NvidiaError::kDeviceChainFormat, {}, parsed.error().detail);
  }
  if (parsed->size() != kChainLength) {
    return reject(NvidiaError::kDeviceChainShape, std::to_string(kChainLength) + " certificates",
                  std::to_string(parsed->size()));
  }
  return *std::move(parsed);
}

Outcome check_path(const std::vector<x509::Certificate>& chain,
                   std::span<const x509::Certificate> roots) {
  // A root counts only by its bytes: anybody can make one with the same name.
  const auto root = std::ranges::find(roots, chain.back());
  if (root == roots.end()) {
    return reject(NvidiaError::kDeviceChainUntrusted, "a trusted root",
                  chain.back().digest().text());
  }
  const Timestamp begun = std::ranges::max(chain, {}, &x509::Certificate::not_before).not_before();
  const auto path =
      x509::verify_path(chain.front(), std::span(chain).subspan(1, kChainLength - 2),
                        std::span(&*root, 1), {.time = begun, .purpose = x509::kAnyPurpose});
  if (!path) {
    return from_path(path.error());
  }
  if (path->certificates != chain) {
    return reject(NvidiaError::kDeviceChainShape, "each certificate issued by the next");
  }
  return {};
}

std::optional<std::string> pdi_of(const x509::Certificate& device, const Chip& chip) {
  const std::string serial = device.serial();
  if (serial.size() != chip.serial_prefix.size() + kPdiDigits ||
      !serial.starts_with(chip.serial_prefix)) {
    return std::nullopt;
  }
  return serial.substr(chip.serial_prefix.size());
}

// The device that certificates describe, whoever issued them.
Checked<DeviceChain> describe(const std::vector<x509::Certificate>& chain) {
  const x509::Certificate& leaf = chain.front();
  auto key = leaf.public_key();
  if (!key || key->algorithm() != SignatureAlgorithm::kEcdsaP384) {
    return reject(NvidiaError::kDeviceKeyType);
  }
  auto device = device_name(leaf);
  if (!device) {
    return std::unexpected(std::move(device).error());
  }
  const auto chip = find_chip(device->chip);
  if (!chip) {
    return std::unexpected(chip.error());
  }
  auto firmware = firmware_of(leaf);
  if (!firmware) {
    return std::unexpected(std::move(firmware).error());
  }
  const auto begun = std::ranges::max(chain, {}, &x509::Certificate::not_before).not_before();
  const auto ended = std::ranges::min(chain, {}, &x509::Certificate::not_after).not_after();
  return DeviceChain{chain,
                     std::make_shared<const PublicKey>(*std::move(key)),
                     begun,
                     ended,
                     sha256(chain[1].key_der()),
                     std::move(device->serial),
                     std::move(device->chip),
                     (*chip)->architecture,
                     (*chip)->kind,
                     pdi_of(chain[1], **chip),
                     std::move(firmware->fwid),
                     firmware->is_debuggable};
}

}  // namespace

std::string_view name(Architecture architecture) {
  switch (architecture) {
    case Architecture::kHopper:
      return "HOPPER";
    case Architecture::kBlackwell:
      return "BLACKWELL";
    default:
      return "LS10";
  }
}

std::optional<Architecture> architecture_from(std::string_view text) {
  for (const auto one : {Architecture::kHopper, Architecture::kBlackwell, Architecture::kLs10}) {
    if (lower_case(name(one)) == lower_case(text)) {
      return one;
    }
  }
  return std::nullopt;
}

std::string_view name(DeviceKind kind) { return kind == DeviceKind::kGpu ? "gpu" : "switch"; }

Checked<DeviceChain> verify_device_chain(std::string_view pem,
                                         std::span<const x509::Certificate> roots) {
  const auto chain = parse_chain(pem);
  if (!chain) {
    return std::unexpected(chain.error());
  }
  if (auto checked = check_path(*chain, roots); !checked) {
    return std::unexpected(std::move(checked).error());
  }
  return describe(*chain);
}

Checked<DeviceChain> claimed_device_chain(std::string_view pem) {
  const auto chain = parse_chain(pem);
  if (!chain) {
    return std::unexpected(chain.error());
  }
  return describe(*chain);
}

}  // namespace assay::attestation::nvidia
