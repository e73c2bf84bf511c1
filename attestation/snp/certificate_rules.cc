// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/certificate_rules.h"

#include <openssl/x509.h>

#include "attestation/x509/handles.h"

namespace assay::attestation::snp {
namespace {

constexpr std::size_t kRsaBytes = 4096 / 8;

std::string common_name(const X509_NAME* name) {
  const int index = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (index < 0 || X509_NAME_get_index_by_NID(name, NID_commonName, index) >= 0) {
    return {};
  }
  const ASN1_STRING* data = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index));
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, data);
  if (size < 0) {
    return {};
  }
  std::string copy(text, text + size);
  OPENSSL_free(text);
  return copy;
}

}  // namespace

std::string subject_name(const x509::Certificate& certificate) {
  return common_name(X509_get_subject_name(x509::bare_x509_of(certificate)));
}

std::string issuer_name(const x509::Certificate& certificate) {
  return common_name(X509_get_issuer_name(x509::bare_x509_of(certificate)));
}

bool is_signed_with_pss(const x509::Certificate& certificate) {
  const ErrorQueueGuard guard;
  X509* const x509 = x509::bare_x509_of(certificate);
  int hash = NID_undef;
  return X509_get_signature_nid(x509) == NID_rsassaPss &&
         X509_get_signature_info(x509, &hash, nullptr, nullptr, nullptr) == 1 && hash == NID_sha384;
}

bool has_rsa_4096_key(const x509::Certificate& certificate) {
  const auto key = certificate.public_key();
  if (!key) {
    return false;
  }
  const auto numbers = key->rsa_numbers();
  return numbers && numbers->modulus.size() == kRsaBytes;
}

bool is_self_signed(const x509::Certificate& certificate) {
  const ErrorQueueGuard guard;
  X509* const x509 = x509::x509_of(certificate);
  return certificate.is_self_issued() && X509_verify(x509, X509_get0_pubkey(x509)) == 1;
}

}  // namespace assay::attestation::snp
