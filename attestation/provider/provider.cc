// SPDX-License-Identifier: Apache-2.0
#include "attestation/provider/provider.h"

#include "attestation/tdx/quote_platform.h"

namespace assay::attestation {

Result<std::string> EvidenceProvider::platform() {
  ASSAY_ASSIGN(const Bytes evidence, quote(ReportDataBytes{}));
  const auto platform = tdx::claimed_platform(evidence);
  if (!platform) {
    return fail(ErrorCode::kEvidenceUnavailable,
                "the quote of this machine does not carry a PCK certificate");
  }
  return hex_encode(platform->ppid);
}

Result<Evidence> collect_evidence(EvidenceProvider& provider, const ReportDataBytes& report_data) {
  ASSAY_ASSIGN(Bytes quote, provider.quote(report_data));
  ASSAY_ASSIGN(Bytes event_log, provider.event_log());
  ASSAY_ASSIGN(Json collateral, provider.collateral());
  return Evidence{std::string(provider.type()), std::move(quote), std::move(event_log),
                  std::move(collateral)};
}

}  // namespace assay::attestation
