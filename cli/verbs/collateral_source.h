// SPDX-License-Identifier: Apache-2.0
// Collateral of TDX platforms as Intel's provisioning certification service (PCS, API version 4)
// and its caches (PCCS) give it out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "attestation/tdx/collateral.h"
#include "client/public_fetch.h"

namespace assay::cli {

// Where collateral comes from.
struct CollateralSource {
  std::string base;      // "https://host[:port]", no trailing '/'
  std::string root_crl;  // address of the root CA's CRL
  // Which TCB info and QE identity are asked for. At most one of the two is there; with neither,
  // the source chooses.
  std::string update{};  // "early" or "standard"
  std::optional<std::uint64_t> evaluation_number{};
};
inline constexpr std::string_view kIntelPcs = "https://api.trustedservices.intel.com";
// Intel gives out the root's CRL from another host than the rest.
inline constexpr std::string_view kIntelRootCrl =
    "https://certificates.trustedservices.intel.com/IntelSGXRootCA.der";

// Returns the source at an address without trailing '/'; an empty `root_crl` follows from it.
[[nodiscard]] CollateralSource source_at(const std::string& base, const std::string& root_crl);

// Gets one document by its address.
using GetDocument = std::function<Result<client::PublicDocument>(const std::string& url)>;

// Fetches the collateral of the platform family `fmspc` (twelve hex digits) whose PCK certificates
// `ca` issued ("platform" or "processor"). Nothing is verified here. Errors: those of `get`;
// collateral-unavailable for an answer of another shape.
[[nodiscard]] Result<attestation::tdx::Collateral> fetch_collateral(const CollateralSource& source,
                                                                    const std::string& fmspc,
                                                                    const std::string& ca,
                                                                    const GetDocument& get);

// Returns the exact text of a member's value in a JSON object, because that text is what is signed.
// Returns nullopt when `json` is no object or has no such member, or when the text is malformed or
// has duplicate members.
[[nodiscard]] std::optional<std::string> member_text(std::string_view json,
                                                     const std::string& name);

}  // namespace assay::cli
