// SPDX-License-Identifier: Apache-2.0
// The certificates of a device, and what they say about it. The chain has five: the key of this
// firmware (leaf), the key of this device, provisioner, identity of the chip, root.
// Names and digests of the firmware: DMTF DSP0274 section 10.6.1 (device information, OID
// 1.3.6.1.4.1.412.274.1), TCG DICE Attestation Architecture 1.1 section 6 (TcbInfo).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/keys.h"
#include "attestation/nvidia/error.h"
#include "attestation/x509/certificate.h"
#include "schemas/core/digest.h"

namespace assay::attestation::nvidia {

enum class Architecture : std::uint8_t { kHopper, kBlackwell, kLs10 };
enum class DeviceKind : std::uint8_t { kGpu, kSwitch };

// Returns "HOPPER", "BLACKWELL" or "LS10", as evidence spells it.
[[nodiscard]] std::string_view name(Architecture architecture);
[[nodiscard]] std::optional<Architecture> architecture_from(std::string_view name);
// Returns "gpu" or "switch".
[[nodiscard]] std::string_view name(DeviceKind kind);

// A chain that was verified: structure, names and signatures, which stay so. Whether it is valid at
// a time is asked with each report. Copies share the key.
struct DeviceChain {
  std::vector<x509::Certificate> certificates;  // leaf first, root last
  std::shared_ptr<const PublicKey> key;         // of the leaf
  // The period in which all certificates are valid, perhaps an empty one.
  Timestamp valid_from;
  Timestamp valid_until;

  Digest identity;     // SHA-256 of the device's public key (SPKI), the same with every firmware
  std::string serial;  // of the chip, as the leaf has it: "48B02D51C9C1070B"
  std::string chip;    // "GH100"
  Architecture architecture;
  DeviceKind kind;
  // Physical identity by which switches and GPUs name each other: 16 hex digits, from the serial
  // number of the device's certificate. Nothing when that has another form.
  std::optional<std::string> pdi;
  std::optional<Bytes> fwid;   // SHA-384 of the firmware that the leaf's key is bound to
  bool is_debuggable = false;  // TcbInfo says: debug, recovery or not secure
};

// Verifies a chain in PEM, leaf first, up to one of `roots`. Errors: DEVICE_CHAIN_FORMAT, _SHAPE,
// _UNTRUSTED and _REFUSED, DEVICE_KEY_TYPE, DEVICE_UNKNOWN, FWID_FORMAT.
[[nodiscard]] Checked<DeviceChain> verify_device_chain(std::string_view pem,
                                                       std::span<const x509::Certificate> roots);

// Returns what a chain says of its device, of which nothing is verified: it only says where to
// look. Errors: DEVICE_CHAIN_FORMAT, _SHAPE, DEVICE_KEY_TYPE, DEVICE_UNKNOWN, FWID_FORMAT.
[[nodiscard]] Checked<DeviceChain> claimed_device_chain(std::string_view pem);

// Returns NVIDIA's roots: of devices, and of RIMs.
[[nodiscard]] const x509::Certificate& device_root();
[[nodiscard]] const x509::Certificate& rim_root();

}  // namespace assay::attestation::nvidia
