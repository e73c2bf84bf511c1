// SPDX-License-Identifier: Apache-2.0
// Writes reports and RIMs in the form of NVIDIA's, with any fault: the counterpart of
// attestation/nvidia/spdm.h, fwid.h and rim.h.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attestation/nvidia/spdm.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::nvidia {

// Signs with ECDSA and SHA-384; returns r || s.
using RawSigner = std::function<Bytes(ByteView)>;

// --- reports

struct ReportSpec {
  Nonce nonce{};
  std::vector<std::pair<std::uint8_t, Bytes>> measurements;  // by SPDM's index, from 1
  std::vector<std::pair<std::uint16_t, Bytes>> opaque;
  Bytes request_header = {0x11, 0xe0, 0x01, 0xff};
  Bytes response_header = {0x11, 0x60, 0x00, 0x00};
};
[[nodiscard]] Bytes make_report(const ReportSpec& spec, const RawSigner& signer);
// Replaces an opaque field, adds it, or removes it for nullopt.
void set_field(ReportSpec& spec, std::uint16_t type, std::optional<Bytes> value);

// Where a leaf has the digest of its firmware.
enum class FwidForm : std::uint8_t { kNone, kHopper, kBlackwell };
// Returns object id and content of the extension; `spki` is of the device key of Hopper's form,
// `flags` the first byte of TcbInfo's.
[[nodiscard]] std::pair<std::string, Bytes> make_fwid(FwidForm form, ByteView fwid, ByteView spki,
                                                      std::uint8_t flags);

// --- RIMs

struct RimResource {
  int index;
  std::vector<Bytes> values;
  bool active = true;
};
struct RimSpec {
  std::string edition = "GPU";
  std::string product = "GH100";
  std::string version = "600.1";
  std::vector<RimResource> resources{};
  // Change the canonical document or SignedInfo before they are signed.
  std::function<void(std::string&)> document{};
  std::function<void(std::string&)> signed_info{};
};
// Writes a RIM that `signer` signs, with these certificates (DER) in its X509Data.
[[nodiscard]] std::string make_rim(const RimSpec& spec, std::span<const Bytes> certificates,
                                   const RawSigner& signer);

}  // namespace assay::attestation::nvidia
