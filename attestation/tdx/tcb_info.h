// SPDX-License-Identifier: Apache-2.0
// TCB info for TDX, version 3: the status of each set of security versions of a platform family.
// Intel PCS API v4, "Get TDX TCB Info". Callers must verify the signature of TCB info before they
// parse it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/tdx/error.h"
#include "attestation/tdx/quote_parse.h"
#include "attestation/tdx/tcb_status.h"
#include "schemas/core/clock.h"
#include "schemas/core/json.h"

namespace assay::attestation::tdx {

// One level of a platform.
struct PlatformLevel {
  Svns sgx{};
  std::uint16_t pcesvn = 0;
  Svns tdx{};
  TcbVerdict verdict;
};

// One level of a TDX module or of the quoting enclave.
struct ComponentLevel {
  std::uint16_t isvsvn = 0;
  TcbVerdict verdict;
};

// The signer, attributes and levels of a genuine TDX module.
struct ModuleIdentity {
  std::uint8_t major = 0;  // xx of "TDX_xx"; 0 for tdxModule, which has no levels
  Measurement mrsigner{};
  Bits64 attributes{};
  Bits64 attributes_mask{};
  std::vector<ComponentLevel> levels;  // highest first
};

struct TcbInfo {
  Timestamp issued;
  Timestamp next_update;
  std::array<std::uint8_t, 6> fmspc{};
  std::array<std::uint8_t, 2> pceid{};
  std::uint32_t evaluation_number = 0;
  ModuleIdentity module;                   // tdxModule: modules of major version 0
  std::vector<ModuleIdentity> identities;  // tdxModuleIdentities: modules of later major versions
  std::vector<PlatformLevel> levels;       // highest first, never empty
};

// Parses the exact bytes that were signed. Errors: TCB_INFO_FORMAT, TCB_INFO_ID_MISMATCH,
// TCB_INFO_VERSION, TCB_INFO_TCB_TYPE.
[[nodiscard]] Checked<TcbInfo> parse_tcb_info(std::string_view text);

// Parses `tcbLevels` of a module or of the quoting enclave, sorted, highest first. Returns nullopt
// when there are no levels, malformed levels, or two levels of the same isvsvn.
[[nodiscard]] std::optional<std::vector<ComponentLevel>> parse_component_levels(const Json& object);

}  // namespace assay::attestation::tdx
