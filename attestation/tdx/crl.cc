// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/crl.h"

#include <algorithm>

#include <openssl/x509v3.h>

#include "attestation/crypto/crl_parts.h"

namespace assay::attestation::tdx {

// The root CRL has no error of its own for a foreign issuer: it is simply not the anchor's.
const CrlErrors kRootCrlErrors = {TdxError::kRootCrlFormat, TdxError::kRootCrlSignature,
                                  TdxError::kRootCrlSignature, TdxError::kRootCrlExpired,
                                  TdxError::kRootCrlNotYetValid};
const CrlErrors kPckCrlErrors = {TdxError::kPckCrlFormat, TdxError::kPckCrlIssuerMismatch,
                                 TdxError::kPckCrlSignature, TdxError::kPckCrlExpired,
                                 TdxError::kPckCrlNotYetValid};

namespace {

std::string name_of(const X509_NAME* name) {
  std::array<char, 256> text{};
  const int index = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (index < 0) {
    return "no name";
  }
  const ASN1_STRING* data = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index));
  const unsigned char* bytes = ASN1_STRING_get0_data(data);
  const std::size_t size =
      std::min(text.size(), static_cast<std::size_t>(ASN1_STRING_length(data)));
  std::transform(bytes, bytes + size, text.begin(), [](unsigned char c) {
    return c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '?';
  });
  return {text.data(), size};
}

}  // namespace

Checked<RevocationList> parse_crl(ByteView der, const CrlErrors& errors) {
  const ErrorQueueGuard guard;
  if (der.size() > kMaxCrlBytes) {
    return reject(TdxError::kInputTooLarge, "at most " + std::to_string(kMaxCrlBytes) + " bytes",
                  std::to_string(der.size()) + " bytes");
  }
  const unsigned char* next = der.data();
  X509CrlHandle crl(der.empty() ? nullptr
                                : d2i_X509_CRL(nullptr, &next, static_cast<long>(der.size())));
  if (crl == nullptr || next != der.data() + der.size() || !is_complete(crl.get()) ||
      !names_one_algorithm(crl.get(), der) ||
      X509_CRL_get_signature_nid(crl.get()) != NID_ecdsa_with_SHA256) {
    return reject(errors.format, "a complete DER CRL of version 2");
  }
  const auto this_update = to_timestamp(X509_CRL_get0_lastUpdate(crl.get()));
  const auto next_update = to_timestamp(X509_CRL_get0_nextUpdate(crl.get()));
  if (!this_update || !next_update) {
    return reject(errors.format, "thisUpdate and nextUpdate");
  }
  const std::uint64_t number = number_of(crl.get());
  RevocationList list{std::move(crl), number, *this_update, *next_update, {}};
  const STACK_OF(X509_REVOKED)* revoked = X509_CRL_get_REVOKED(list.crl.get());
  for (int i = 0; i < sk_X509_REVOKED_num(revoked); ++i) {
    const X509_REVOKED* entry = sk_X509_REVOKED_value(revoked, i);
    if (has_critical_extension(X509_REVOKED_get0_extensions(entry))) {
      return reject(errors.format, "entries of this issuer only");
    }
    list.serials.push_back(serial_bytes(X509_REVOKED_get0_serialNumber(entry)));
  }
  std::ranges::sort(list.serials);
  return list;
}

Outcome check_crl_issuer(const RevocationList& list, const Certificate& issuer,
                         const CrlErrors& errors) {
  const ErrorQueueGuard guard;
  const X509_NAME* name = X509_CRL_get_issuer(list.crl.get());
  if (X509_NAME_cmp(name, X509_get_subject_name(issuer.x509.get())) != 0) {
    return reject(errors.issuer, issuer.common_name, name_of(name));
  }
  if (X509_CRL_verify(list.crl.get(), issuer.key()) != 1) {
    return reject(errors.signature, "signed by " + issuer.common_name);
  }
  return {};
}

Outcome check_crl_time(const RevocationList& list, Timestamp now, const CrlErrors& errors) {
  if (now < list.this_update) {
    return reject(errors.not_yet_valid, "from " + to_rfc3339(list.this_update), to_rfc3339(now));
  }
  if (now > list.next_update) {
    return reject(errors.expired, "until " + to_rfc3339(list.next_update), to_rfc3339(now));
  }
  return {};
}

bool is_revoked(const RevocationList& list, const Certificate& certificate) {
  return std::ranges::binary_search(list.serials, certificate.serial);
}

}  // namespace assay::attestation::tdx
