// SPDX-License-Identifier: Apache-2.0
// The TCB status of a platform: levels of module, platform and quoting enclave, merged.
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

// A security version that is lower than the highest TCB level asks for: why a platform is not up to
// date.
struct Shortfall {
  std::string component;  // "sgx[7]", "pcesvn", "tdx[2]", "module", "qe"
  std::uint32_t have;
  std::uint32_t need;
};

struct TcbEvaluation {
  TcbStatus status = TcbStatus::kRevoked;  // merged
  TcbStatus platform = TcbStatus::kRevoked;
  std::optional<TcbStatus> module;  // nothing for modules of major version 0
  TcbStatus qe = TcbStatus::kRevoked;
  Timestamp date;                       // the oldest of the levels matched
  std::vector<std::string> advisories;  // of all levels matched, without repetition
};

// The module that the quote names is one the TCB info knows: signer, attributes. The result is
// borrowed from `info`.
[[nodiscard]] Checked<const ModuleIdentity*> check_module(const TcbInfo& info,
                                                          const TdReport& report);

// TCB_LEVEL_NOT_SUPPORTED when platform, module or quoting enclave are below every level;
// TDX_MODULE_IDENTITY_MISSING when the module loaded now is unknown. Revoked is a status here.
[[nodiscard]] Checked<TcbEvaluation> evaluate_tcb(const TcbInfo& info,
                                                  const std::vector<ComponentLevel>& qe_levels,
                                                  const PckExtension& pck, const QuoteView& quote,
                                                  const ModuleIdentity& module);

// Compared with the highest level of each; empty when nothing is lower.
[[nodiscard]] std::vector<Shortfall> shortfalls(const TcbInfo& info,
                                                const std::vector<ComponentLevel>& qe_levels,
                                                const PckExtension& pck, const QuoteView& quote);

}  // namespace assay::attestation::tdx
