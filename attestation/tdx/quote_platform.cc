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

std::optional<ClaimedFamily> claimed_family(ByteView quote) {
  const auto parsed = parse_quote(quote);
  const auto chain = parsed ? split_pem_chain(as_text(parsed->pck_chain)) : std::nullopt;
  const auto leaf = chain && chain->size() > 1 ? parse_certificate(chain->front()) : nullptr;
  const auto issuer = leaf != nullptr ? parse_certificate((*chain)[1]) : nullptr;
  const auto extension =
      issuer != nullptr ? parse_pck_extension(sgx_extension(*leaf)) : std::nullopt;
  if (!extension || pck_ca_of(issuer->common_name).empty()) {
    return std::nullopt;
  }
  return ClaimedFamily{extension->fmspc, std::string(pck_ca_of(issuer->common_name)),
                       chain->back()};
}

std::string_view pck_ca_of(std::string_view common_name) {
  if (common_name == "Intel SGX PCK Platform CA") {
    return "platform";
  }
  return common_name == "Intel SGX PCK Processor CA" ? "processor" : "";
}

}  // namespace assay::attestation::tdx
