// SPDX-License-Identifier: Apache-2.0
// X.509 certificates of version 3 (RFC 5280): parsing, and what they say of themselves. Nothing
// here says that a certificate can be believed: verify_path() (path.h) does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attestation/keys.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::attestation::x509 {

inline constexpr std::size_t kMaxCertificateBytes = 32U << 10;
inline constexpr std::size_t kMaxCertificates = 256;  // of one file
inline constexpr std::size_t kMaxCertificateFile = 1U << 20;

// A parsed certificate. Copies share it. Safe to use from several threads.
class Certificate {
 public:
  // Parses exactly one certificate in DER. Refuses versions other than 3, trailing bytes, forms
  // that OpenSSL would not write, malformed extensions, an extension that is there twice (RFC 5280
  // section 4.2), and serial numbers that are longer than 20 bytes. Errors: malformed-certificate;
  // limit-exceeded for more than kMaxCertificateBytes; unsupported-key unless the key is Ed25519,
  // ECDSA on P-256, P-384 or P-521 (named curve), or RSA of 2048 to 8192 bits.
  [[nodiscard]] static Result<Certificate> from_der(ByteView der);

  [[nodiscard]] const Bytes& der() const;
  // Returns the SHA-256 of the DER.
  [[nodiscard]] const Digest& digest() const;
  // Bounds of the validity, both inclusive.
  [[nodiscard]] Timestamp not_before() const;
  [[nodiscard]] Timestamp not_after() const;
  // Names as text (RFC 2253, UTF-8), for people alone: two names can have one text.
  [[nodiscard]] std::string subject() const;
  [[nodiscard]] std::string issuer() const;
  // Returns the serial number in lower-case hex.
  [[nodiscard]] std::string serial() const;
  // Returns true when basicConstraints says that this is a CA.
  [[nodiscard]] bool is_ca() const;
  // Returns true when subject and issuer are one name. The signature is not looked at.
  [[nodiscard]] bool is_self_issued() const;
  // Returns the key as SubjectPublicKeyInfo, in the bytes of the certificate.
  [[nodiscard]] const Bytes& key_der() const;
  // Returns the key for verifying signatures. Errors: those of PublicKey::from_der().
  [[nodiscard]] Result<PublicKey> public_key() const;

  bool operator==(const Certificate& other) const { return der() == other.der(); }

  struct Impl;  // handles.h
  explicit Certificate(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  [[nodiscard]] const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// Parses a file of certificates: one in DER, or PEM blocks "CERTIFICATE" in their order. Text
// between PEM blocks is skipped, as RFC 7468 section 5.2 says; another kind of block is refused.
// Errors: malformed-certificate, also for none; limit-exceeded for more than kMaxCertificateFile
// bytes or kMaxCertificates; those of Certificate::from_der().
[[nodiscard]] Result<std::vector<Certificate>> parse_certificates(ByteView file);

// Returns the certificate as one PEM block.
[[nodiscard]] std::string pem(const Certificate& certificate);

}  // namespace assay::attestation::x509
