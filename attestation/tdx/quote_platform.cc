// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/quote_platform.h"

#include "attestation/tdx/certificate.h"
#include "attestation/tdx/pck_chain.h"
#include "attestation/tdx/quote_parse.h"

namespace assay::attestation::tdx {

std::optional<PckExtension> claimed_platform(ByteView quote) {
  const auto parsed = parse_quote(quote);
  const auto chain = parsed ? split_pem_chain(as_text(parsed->pck_chain)) : std::nullopt;
  const auto leaf = chain && !chain->empty() ? parse_certificate(chain->front()) : nullptr;
  return leaf != nullptr ? parse_pck_extension(sgx_extension(*leaf)) : std::nullopt;
}

}  // namespace assay::attestation::tdx
