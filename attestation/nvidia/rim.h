// SPDX-License-Identifier: Apache-2.0
// Reference integrity manifests: signed lists of the measurements that firmware must have. A SWID
// tag (ISO/IEC 19770-2:2015) with the signature of xml_signature.h.
// Source: TCG Reference Integrity Manifest Information Model 1.01.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/nvidia/error.h"
#include "attestation/nvidia/ocsp.h"
#include "attestation/x509/certificate.h"
#include "schemas/core/clock.h"
#include "schemas/core/digest.h"

namespace assay::attestation::nvidia {

inline constexpr std::size_t kMaxRimMeasurements = 256;
inline constexpr std::size_t kMaxRimAlternatives = 64;
inline constexpr std::size_t kMaxRimIdBytes = 128;

enum class RimSource : std::uint8_t { kDriver, kVbios };
// Returns "driver" or "vbios". The firmware of a switch has a RIM of the second kind.
[[nodiscard]] std::string_view name(RimSource source);

// One measurement that counts, and the values of which it must have one.
struct Golden {
  std::uint8_t index;  // as in ReportView
  std::vector<Bytes> alternatives;
};

// A RIM whose signature and chain were verified, which stay so. Whether its certificates are valid
// or revoked at a time is asked with each report.
struct Rim {
  std::string id;
  RimSource source;
  Digest digest;                // SHA-256 of the file
  std::string product;          // "GH100"
  std::string version;          // of the firmware
  std::vector<Golden> goldens;  // active ones, by increasing index
  Timestamp valid_from;         // period of all certificates together; it is not empty
  Timestamp valid_until;
  std::vector<x509::Certificate> certificates;    // leaf first, root last
  std::vector<std::vector<OcspStatus>> statuses;  // of each certificate but the root
};

// Verifies a RIM that is kept under `id`, up to one of `roots`, and reads its measurements from the
// signed bytes alone. Product and version of the content must be those of the id. The certificates
// of the signature are its chain, all of them, leaf first; the root may be among them.
// Errors: RIM_FORMAT, RIM_SIGNATURE_FORM, RIM_SIGNATURE, RIM_CHAIN, RIM_CONTENT, RIM_ID_MISMATCH,
// INPUT_TOO_LARGE.
[[nodiscard]] Checked<Rim> open_rim(std::string_view id, ByteView xml,
                                    std::span<const x509::Certificate> roots,
                                    std::span<const OcspResponse> responses);

// Takes the XML and the id out of an answer of NVIDIA's RIM service: {"id","rim" (base64),"sha256"
// (hex of the XML),...}. Errors: RIM_FORMAT.
struct RimFile {
  std::string id;
  Bytes xml;
};
[[nodiscard]] Checked<RimFile> parse_rim_answer(ByteView json);

}  // namespace assay::attestation::nvidia
