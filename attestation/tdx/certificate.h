// SPDX-License-Identifier: Apache-2.0
// X.509 certificates and the chains that accompany Intel's documents. Internal to this folder.
// Profile: Intel "PCK Certificate and Certificate Revocation List Profile Specification"; RFC 5280.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/tdx/error.h"
#include "attestation/tdx/x509_handles.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"

namespace assay::attestation::tdx {

struct Certificate {
  Bytes der;
  X509Handle x509;  // without a key: functions that need one take key()
  PkeyHandle public_key;
  std::string common_name;  // of the subject
  Bytes serial;             // as serial_bytes() writes it
  Timestamp not_before;
  Timestamp not_after;

  // Returns the public key, borrowed from this certificate.
  [[nodiscard]] EVP_PKEY* key() const { return public_key.get(); }
};
using CertificatePtr = std::shared_ptr<const Certificate>;

// Parses a certificate. Returns null unless `der` is exactly one certificate of version 3 with a
// decodable key, one common name, well-formed extensions and no unknown critical extension.
[[nodiscard]] CertificatePtr parse_certificate(ByteView der);

// Returns the certificates of PEM text, in order. Between the blocks only line ends are allowed;
// one NUL may end the text. Returns nullopt for any other text, and for more than 64 KiB or eight
// blocks, because every real chain is shorter.
[[nodiscard]] std::optional<std::vector<Bytes>> split_pem_chain(std::string_view pem);

// Returns a sign byte and the magnitude. The results for a certificate and for a CRL entry are
// equal exactly when their serial numbers are.
[[nodiscard]] Bytes serial_bytes(const ASN1_INTEGER* serial);
// Converts a time. Returns nullopt when it is not well-formed or before 1970.
[[nodiscard]] std::optional<Timestamp> to_timestamp(const ASN1_TIME* time);

// Returns true for Intel's extension 1.2.840.113741.1.13.1.
[[nodiscard]] bool is_sgx_extension(X509_EXTENSION* extension);

// The requirements on the certificate at one position in a chain: its allowed subjects, and whether
// it is a CA.
struct ChainPlace {
  std::span<const std::string_view> common_names;
  bool is_ca;
};

// For each fault of a chain, the error that reports it.
struct ChainErrors {
  TdxError format, length, names, root, key_type, constraints, signature;
  TdxError expired, not_yet_valid, revoked;
};
extern const ChainErrors kPckErrors;
extern const ChainErrors kTcbInfoErrors;
extern const ChainErrors kQeIdentityErrors;

using Chain = std::vector<CertificatePtr>;

// Parses and verifies a chain, leaf first. Requires one certificate for each element of `places`.
// Each certificate must have an allowed subject, be issued by the next one, and be a CA or a leaf
// as its ChainPlace says. All keys must be P-256, and all signatures must be ECDSA with SHA-256 and
// verify. The last certificate must equal `anchor` (the configured root, trust_anchor.h) byte for
// byte. `known` are certificates that the caller verified under this anchor before; their
// signatures are not verified again. Validity times and revocation are not checked here.
[[nodiscard]] Checked<Chain> open_chain(std::string_view pem, std::span<const ChainPlace> places,
                                        const CertificatePtr& anchor, const ChainErrors& errors,
                                        std::span<const CertificatePtr> known = {});

// Checks notBefore <= now <= notAfter for each certificate.
[[nodiscard]] Outcome check_chain_time(std::span<const CertificatePtr> chain, Timestamp now,
                                       const ChainErrors& errors);

}  // namespace assay::attestation::tdx
