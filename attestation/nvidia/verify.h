// SPDX-License-Identifier: Apache-2.0
// Verification of an NVIDIA GPU or NVSwitch: a pure function of evidence, what is known and
// trusted, time and nonce. Evidence that cannot be of a genuine device is refused. Everything else
// is a fact: firmware, RIMs, differences from them, revocation. accept.h judges facts; topology.h
// looks at several devices together.
//
// A caller keeps what reports do not change: the device (open_device()) and RIMs (open_rim()), both
// with their stored OCSP answers. A report of a known device then costs one signature. All of these
// are safe to share between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/nvidia/device_chain.h"
#include "attestation/nvidia/error.h"
#include "attestation/nvidia/firmware.h"
#include "attestation/nvidia/ocsp.h"
#include "attestation/nvidia/rim.h"
#include "attestation/nvidia/spdm.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"

namespace assay::attestation::nvidia {

// The evidence of one device, as it came.
struct Evidence {
  Bytes report;
  std::string certificates;                  // PEM, leaf first
  std::optional<Architecture> architecture;  // what the sender says it is
  std::optional<Nonce> nonce;                // what the sender says it asked with
};

// The nonce that the report must answer. There is no default: a caller without one passes
// not_requested(), and the facts say so.
class NonceExpectation {
 public:
  [[nodiscard]] static NonceExpectation exactly(const Nonce& nonce) {
    return NonceExpectation(nonce);
  }
  [[nodiscard]] static NonceExpectation not_requested() { return NonceExpectation(std::nullopt); }
  [[nodiscard]] const std::optional<Nonce>& value() const { return value_; }

 private:
  explicit NonceExpectation(std::optional<Nonce> value) : value_(value) {}
  std::optional<Nonce> value_;
};

// A device whose chain was verified, and what stored OCSP answers say about its certificates.
struct KnownDevice {
  DeviceChain chain;
  std::vector<std::vector<OcspStatus>> statuses;  // of each certificate but the root
};
// Errors: those of verify_device_chain().
[[nodiscard]] Checked<KnownDevice> open_device(std::string_view pem,
                                               std::span<const x509::Certificate> roots,
                                               std::span<const OcspResponse> responses);

// How a report is judged. Borrows the RIMs.
struct Judging {
  Timestamp now;
  NonceExpectation nonce;
  std::span<const Rim> rims;
  OcspWindow window{};
};

enum class RimState : std::uint8_t { kValid, kExpired, kNotYetValid, kMissing };
// Returns "valid", "expired", "not-yet-valid" or "missing".
[[nodiscard]] std::string_view name(RimState state);

struct RimFact {
  RimSource source;
  std::string id;  // that the report asks for
  RimState state;
  std::optional<Digest> digest;   // of the RIM that was used
  std::optional<Timestamp> ends;  // of its certificates
};

// A measurement that differs from its RIM.
struct Mismatch {
  RimSource source;
  std::uint8_t index;             // from 0, as in RIMs
  std::vector<Bytes> golden;      // each of these would do
  std::optional<Bytes> reported;  // nothing when the report lacks it
};

// The state of one certificate of the device or of a RIM.
struct RevocationFact {
  std::string where;    // "device", "driver" or "vbios"
  std::string subject;  // for people alone
  CertificateState state;
  std::string reason;
};

enum class FwidCheck : std::uint8_t { kMatched, kNotReported };
// Returns "matched" or "not-reported": LS10 and old firmware do not report it.
[[nodiscard]] std::string_view name(FwidCheck check);

enum class DebugState : std::uint8_t { kUnknown, kDisabled, kEnabled };
// Returns "unknown", "disabled" or "enabled".
[[nodiscard]] std::string_view name(DebugState state);

struct DeviceFacts {
  Digest identity;  // see DeviceChain
  std::string serial;
  std::string chip;
  Architecture architecture;
  DeviceKind kind;
  std::optional<std::string> pdi;
  Digest root;  // the anchor, SHA-256
  bool is_nvidia_root = false;
  bool nonce_matched = false;  // false: none was asked for
  Nonce nonce{};
  FwidCheck fwid = FwidCheck::kNotReported;
  FirmwareFacts firmware;
  std::vector<RimFact> rims;  // in the order of firmware.wanted
  std::size_t compared = 0;   // measurements that RIMs have values for
  std::vector<Mismatch> mismatches;
  std::vector<std::uint8_t> conflicts;  // indices that both RIMs have values for
  bool is_nvdec_unclear = false;        // measurement 35 counts or not, and the report does not say
  // Whether every measurement that RIMs demand is as they demand, RIMs being there: the firmware is
  // that which NVIDIA signed, which starts securely and without debugging.
  bool is_measured = false;
  DebugState debug = DebugState::kUnknown;
  std::vector<RevocationFact> revocations;
  // When these facts may change by time alone: the first end of a certificate or OCSP answer that
  // counts now.
  Timestamp valid_until;
};

// Verifies a report of a known device. Errors: those of parse_report() and read_firmware();
// NONCE_MISMATCH, DEVICE_CHAIN_EXPIRED, DEVICE_CHAIN_NOT_YET_VALID, REPORT_SIGNATURE,
// FWID_MISMATCH.
[[nodiscard]] Checked<DeviceFacts> verify(ByteView report, const KnownDevice& device,
                                          const Judging& judging);

// For a caller that keeps nothing between reports. Borrows everything.
struct Trust {
  std::span<const x509::Certificate> device_roots;
  std::span<const Rim> rims;
  std::span<const OcspResponse> responses;
  OcspWindow window{};
};
// Opens the device and verifies its report. Errors: also those of open_device(),
// ARCHITECTURE_MISMATCH, and NONCE_MISMATCH when the evidence states another nonce than the report.
[[nodiscard]] Checked<DeviceFacts> verify(const Evidence& evidence, const Trust& trust,
                                          Timestamp now, const NonceExpectation& nonce);

}  // namespace assay::attestation::nvidia
