// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/pck_chain.h"

#include <array>

#include <openssl/x509v3.h>

namespace assay::attestation::tdx {
namespace {

constexpr std::array<std::string_view, 1> kPckNames = {"Intel SGX PCK Certificate"};
constexpr std::array<std::string_view, 2> kPckCaNames = {"Intel SGX PCK Platform CA",
                                                         "Intel SGX PCK Processor CA"};
constexpr std::array<std::string_view, 1> kRootNames = {"Intel SGX Root CA"};
constexpr std::array<std::string_view, 1> kTcbSigningNames = {"Intel SGX TCB Signing"};

constexpr std::array<ChainPlace, 3> kPckPlaces = {
    {{kPckNames, false}, {kPckCaNames, true}, {kRootNames, true}}};
constexpr std::array<ChainPlace, 2> kPckCaPlaces = {{{kPckCaNames, true}, {kRootNames, true}}};
constexpr std::array<ChainPlace, 2> kSigningPlaces = {
    {{kTcbSigningNames, false}, {kRootNames, true}}};

}  // namespace

ByteView sgx_extension(const Certificate& leaf) {
  ByteView value;
  for (int i = 0; i < X509_get_ext_count(leaf.x509.get()); ++i) {
    X509_EXTENSION* extension = X509_get_ext(leaf.x509.get(), i);
    if (!is_sgx_extension(extension)) {
      continue;
    }
    if (!value.empty()) {
      return {};
    }
    const ASN1_OCTET_STRING* octets = X509_EXTENSION_get_data(extension);
    value = {ASN1_STRING_get0_data(octets), static_cast<std::size_t>(ASN1_STRING_length(octets))};
  }
  return value;
}

Checked<PckChain> open_pck_chain(std::string_view pem, const CertificatePtr& anchor,
                                 std::span<const CertificatePtr> known) {
  auto chain = open_chain(pem, kPckPlaces, anchor, kPckErrors, known);
  if (!chain) {
    return std::unexpected(std::move(chain).error());
  }
  auto extension = parse_pck_extension(sgx_extension(*chain->front()));
  if (!extension) {
    return reject(TdxError::kPckExtensionFormat, "one extension 1.2.840.113741.1.13.1");
  }
  return PckChain{std::move(*chain), *extension};
}

Checked<Chain> open_pck_ca_chain(std::string_view pem, const CertificatePtr& anchor) {
  return open_chain(pem, kPckCaPlaces, anchor, kPckErrors);
}

Checked<Chain> open_signing_chain(std::string_view pem, const CertificatePtr& anchor,
                                  const ChainErrors& errors,
                                  std::span<const CertificatePtr> known) {
  return open_chain(pem, kSigningPlaces, anchor, errors, known);
}

}  // namespace assay::attestation::tdx
