// SPDX-License-Identifier: Apache-2.0
// Returns which platform a quote claims to come from, for callers that need this before the quote
// is verified.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attestation/tdx/pck_extension.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

// Returns the SGX extension of the PCK certificate inside the quote. No signature is checked, so
// this is only the machine's own claim. Returns nullopt when the quote or the certificate does not
// parse.
[[nodiscard]] std::optional<PckExtension> claimed_platform(ByteView quote);

// Which collateral a quote asks for.
struct ClaimedFamily {
  std::array<std::uint8_t, 6> fmspc{};
  std::string ca;  // "platform" or "processor": the CA that issued the PCK certificate
  Bytes root;      // DER of the last certificate of the chain
};
// Reads it from the quote's PCK chain. As claimed_platform(), this is only a claim. Returns nullopt
// also when the issuer is neither of Intel's two CAs.
[[nodiscard]] std::optional<ClaimedFamily> claimed_family(ByteView quote);

// Returns "platform" or "processor" for the common name of one of Intel's two PCK CAs, else an
// empty text.
[[nodiscard]] std::string_view pck_ca_of(std::string_view common_name);

}  // namespace assay::attestation::tdx
