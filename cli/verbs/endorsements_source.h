// SPDX-License-Identifier: Apache-2.0
// Reads from evidence of machines which collateral it asks for, and gets that from the vendors'
// services: Intel's PCS, NVIDIA's RIM service and OCSP responder, AMD's KDS.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attestation/nvidia/evidence_file.h"
#include "cli/verbs/collateral_source.h"
#include "schemas/core/json.h"
#include "schemas/endorsements.h"

namespace assay::cli {

inline constexpr std::string_view kNvidiaRims = "https://rim.attestation.nvidia.com";
inline constexpr std::string_view kNvidiaOcsp = "https://ocsp.ndis.nvidia.com";
inline constexpr std::string_view kAmdKds = "https://kdsintf.amd.com";

// Addresses have no trailing '/'.
struct EndorsementSources {
  CollateralSource intel;
  std::string rims;
  std::string ocsp;
  std::string kds;
};

// The wants of all evidence together. No signature was checked, so they only say where to look.
struct WantedEndorsements {
  std::set<std::pair<std::string, std::string>> families;  // of TDX: FMSPC in hex, CA
  std::set<std::string> generations;                       // of SEV-SNP: "Milan"
  std::set<std::pair<std::string, std::string>> chips;     // without a certificate: id, path at KDS
  std::vector<attestation::nvidia::Evidence> devices;
};
// Adds what a file asks for: a TDX quote, an SEV-SNP report, or a JSON list of devices. Errors:
// invalid-encoding for anything else.
[[nodiscard]] Status add_wanted(ByteView file, const std::string& path, WantedEndorsements& wanted);

// Gets one document; with a body, by POST of an OCSP request.
using AskVendor =
    std::function<Result<client::PublicDocument>(const std::string& url, const Bytes& body)>;

// A file to write: JSON of collateral, or a certificate in DER.
struct FetchedEndorsement {
  std::string file;  // name
  std::string type;  // of the evidence
  Json collateral;   // null for a certificate
  Bytes certificate{};
};
// Fetches all of it. RIMs and the chains of devices are verified under NVIDIA's roots and `roots`,
// because the addresses of the answers follow from their certificates. Nothing else is verified.
// Errors: those of `ask`; collateral-unavailable for an answer of another shape;
// collateral-refused.
[[nodiscard]] Result<std::vector<FetchedEndorsement>> fetch_endorsements(
    const EndorsementSources& sources, const WantedEndorsements& wanted,
    const std::vector<EndorsedBytes>& roots, const AskVendor& ask);

}  // namespace assay::cli
