// SPDX-License-Identifier: Apache-2.0
// Makes evidence and collateral of NVIDIA devices in the real structure, under a throw-away PKI.
// The one root of this PKI, of devices and RIMs, is not NVIDIA's; in all else the evidence looks
// genuine. So it is accepted only where that root is configured, and every result names the root.
//
// valid_nvidia_simulation() returns a specification of valid evidence. A caller who needs other
// evidence changes members of it. The same specification always gives the same bytes.
#pragma once

#include <string>
#include <vector>

#include "attestation/nvidia/device_chain.h"
#include "attestation/nvidia/firmware.h"
#include "attestation/simulate/nvidia_pki.h"
#include "attestation/simulate/nvidia_writer.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/json.h"

namespace assay::attestation::nvidia {

struct SimulatedRim {
  std::string id;
  RimSpec content;
  std::vector<SimulatedCertificate> chain;  // leaf first, root last
};

// A device of a seed. GPUs 0 to 7 and switches 0 to 3 are one board, 8 to 15 and 4 to 7 the next.
struct DeviceChoice {
  Architecture architecture = Architecture::kHopper;  // kLs10 is a switch, the others are GPUs
  unsigned number = 0;
  DeviceMode mode = DeviceMode::kConfidential;  // devices in kProtectedPcie name each other
};

struct NvidiaSimulationSpec {
  Bytes seed;
  Timestamp now;
  DeviceChoice device;
  std::string uuid;  // as drivers name it
  ReportSpec report;
  std::string report_signer;                // label of a key
  std::vector<SimulatedCertificate> chain;  // leaf first, root last
  std::vector<SimulatedRim> rims;           // driver (of a GPU) and VBIOS
};

// Returns a valid specification: the report answers `nonce`, RIMs say what is measured, and OCSP
// answers are good from a day before `now` until 29 days after. PKI and measurements follow from
// `seed` alone, so that its root can be configured once.
[[nodiscard]] NvidiaSimulationSpec valid_nvidia_simulation(ByteView seed, Timestamp now,
                                                           const DeviceChoice& device,
                                                           const Nonce& nonce);
// Replaces the leaf's digest of the firmware. `flags` are the first byte of TcbInfo's.
void set_leaf_firmware(NvidiaSimulationSpec& spec, ByteView fwid, std::uint8_t flags);
// Replaces the version of the driver, in the report and in its RIM.
void set_driver(NvidiaSimulationSpec& spec, const std::string& version);

struct NvidiaSimulation {
  std::string uuid;
  Json evidence;    // {"arch","nonce","evidence","certificate"}, see evidence_file.h
  Json collateral;  // {"rim/<id>","ocsp/<hex>","chain/<hex>"}
  Bytes root;       // DER: the anchor to configure
};
[[nodiscard]] NvidiaSimulation simulate(const NvidiaSimulationSpec& spec);

}  // namespace assay::attestation::nvidia
