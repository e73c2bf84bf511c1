// SPDX-License-Identifier: Apache-2.0
// The TCB status of a platform, merged from the levels of module, platform and quoting enclave.
// Intel QVL steps 4.1.2.4.17 and 4.1.2.5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attestation/tdx/error.h"
#include "attestation/tdx/pck_extension.h"
#include "attestation/tdx/qe_identity.h"
#include "attestation/tdx/tcb_info.h"

namespace assay::attestation::tdx {

// A security version that is below that of the highest TCB level, which is why a platform is not up
// to date.
struct Shortfall {
  std::string component;  // "sgx[7]", "pcesvn", "tdx[2]", "module", "qe"
  std::uint32_t have;
  std::uint32_t need;
};
// Returns what is old, which version it has and which it needs: "late microcode (tdx[2]) has
// version 5, the newest level needs 6".
[[nodiscard]] std::string words(const Shortfall& shortfall);

// The TCB levels that a quote matches, and their merged status.
struct TcbEvaluation {
  TcbStatus status = TcbStatus::kRevoked;  // merged
  TcbStatus platform = TcbStatus::kRevoked;
  std::optional<TcbStatus> module;  // absent for modules of major version 0
  TcbStatus qe = TcbStatus::kRevoked;
  Timestamp date;                       // the oldest date of the matched levels
  std::vector<std::string> advisories;  // of all matched levels, without repetition
};

// Returns the identity in `info` of the TDX module that `report` names, borrowed from `info`. Fails
// when `info` has no such module, or has the module with another signer or other attributes.
[[nodiscard]] Checked<const ModuleIdentity*> check_module(const TcbInfo& info,
                                                          const TdReport& report);

// Matches the levels of module, platform and quoting enclave and merges their statuses. Revoked is
// a status here, not an error. Errors: TCB_LEVEL_NOT_SUPPORTED when platform, module or quoting
// enclave is below every level; TDX_MODULE_IDENTITY_MISSING when the module loaded at quote time is
// unknown.
[[nodiscard]] Checked<TcbEvaluation> evaluate_tcb(const TcbInfo& info,
                                                  const std::vector<ComponentLevel>& qe_levels,
                                                  const PckExtension& pck, const QuoteView& quote,
                                                  const ModuleIdentity& module);

// Returns the security versions of the platform that are lower than those of the highest TCB level.
// Empty when no version is lower.
[[nodiscard]] std::vector<Shortfall> shortfalls(const TcbInfo& info,
                                                const std::vector<ComponentLevel>& qe_levels,
                                                const PckExtension& pck, const QuoteView& quote);

}  // namespace assay::attestation::tdx
