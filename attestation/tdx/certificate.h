// SPDX-License-Identifier: Apache-2.0
// One X.509 certificate and the chains that Intel's documents come with. Internal to this folder.
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
  X509Handle x509;
  std::string common_name;  // of the subject
  Bytes serial;             // as serial_bytes() writes it
  Timestamp not_before;
  Timestamp not_after;

  // Borrowed.
  [[nodiscard]] EVP_PKEY* key() const { return X509_get0_pubkey(x509.get()); }
};
using CertificatePtr = std::shared_ptr<const Certificate>;

// Null unless `der` is exactly one certificate of version 3 with a decodable key, one common name,
// well-formed extensions and no unknown critical one.
[[nodiscard]] CertificatePtr parse_certificate(ByteView der);

// The certificates of PEM text, in order. Nothing but line ends may stand between the blocks; one
// NUL may end the text. Nothing when it is something else, or longer than
// any chain: 64 KiB, eight blocks.
[[nodiscard]] std::optional<std::vector<Bytes>> split_pem_chain(std::string_view pem);

// Sign and magnitude, comparable between certificates and CRL entries.
[[nodiscard]] Bytes serial_bytes(const ASN1_INTEGER* serial);
// Nothing when the time is not well-formed or before 1970.
[[nodiscard]] std::optional<Timestamp> to_timestamp(const ASN1_TIME* time);

// True for Intel's extension 1.2.840.113741.1.13.1.
[[nodiscard]] bool is_sgx_extension(X509_EXTENSION* extension);

// Where a certificate of a chain stands: which subjects may be there, and whether it is a CA.
struct ChainPlace {
  std::span<const std::string_view> common_names;
  bool is_ca;
};

// The names under which a chain's faults are reported.
struct ChainErrors {
  TdxError format, length, names, root, key_type, constraints, signature;
  TdxError expired, not_yet_valid, revoked;
};
extern const ChainErrors kPckErrors;
extern const ChainErrors kTcbInfoErrors;
extern const ChainErrors kQeIdentityErrors;

using Chain = std::vector<CertificatePtr>;

// Opens a chain, leaf first: as many certificates as `places`, each with its subject, issued by the
// next, CAs and leaves as they should be, P-256 keys and ECDSA with SHA-256 throughout, each
// signature verified, and the last one byte for byte `anchor`. `known` are certificates that were
// verified under this anchor before; their signatures are not verified again. Neither validity
// times nor revocation are checked here.
[[nodiscard]] Checked<Chain> open_chain(std::string_view pem, std::span<const ChainPlace> places,
                                        const CertificatePtr& anchor, const ChainErrors& errors,
                                        std::span<const CertificatePtr> known = {});

// Each certificate's notBefore <= now <= notAfter.
[[nodiscard]] Outcome check_chain_time(std::span<const CertificatePtr> chain, Timestamp now,
                                       const ChainErrors& errors);

}  // namespace assay::attestation::tdx
