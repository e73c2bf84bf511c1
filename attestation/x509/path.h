// SPDX-License-Identifier: Apache-2.0
// Validation of certification paths (RFC 5280 section 6), stricter where Assay needs it: a path
// ends at an anchor that the caller brings, has one purpose, and is judged at a time that the
// caller names. Revocation lists and OCSP are not read.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attestation/x509/certificate.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::attestation::x509 {

// Purposes of a leaf's key (RFC 5280 section 4.2.1.12).
inline constexpr std::string_view kCodeSigning = "1.3.6.1.5.5.7.3.3";
inline constexpr std::string_view kTimeStamping = "1.3.6.1.5.5.7.3.8";
inline constexpr std::string_view kEmailProtection = "1.3.6.1.5.5.7.3.4";
// For PathOptions::purpose: no purpose is demanded.
inline constexpr std::string_view kAnyPurpose = "any";

inline constexpr std::size_t kMaxIntermediates = 16;
inline constexpr std::size_t kMaxPath = 8;  // certificates, leaf and anchor included

struct PathOptions {
  // Every certificate of the path, the anchor included, must be valid at this time.
  Timestamp time;
  // The extended key usage that the leaf must name; anyExtendedKeyUsage does not stand for it. An
  // issuer below the anchor that has the extension must name it, too, or anyExtendedKeyUsage.
  std::string_view purpose;
  // What the leaf's keyUsage must allow: digitalSignature, or nonRepudiation where this is set.
  bool allow_non_repudiation = false;
  // Whether a leaf without keyUsage is refused.
  bool require_key_usage = true;
  // For formats whose signers do so (OpenSSF Model Signing): whether the leaf may be a CA, and
  // whether it may be an anchor itself. The path is then the leaf alone.
  bool allow_ca_leaf = false;
  bool allow_anchor_leaf = false;
};

// A path that was verified: the leaf first, the anchor last, at least two certificates unless the
// leaf was allowed to be an anchor.
struct VerifiedPath {
  std::vector<Certificate> certificates;

  [[nodiscard]] const Certificate& leaf() const { return certificates.front(); }
  [[nodiscard]] const Certificate& anchor() const { return certificates.back(); }
  // Returns the certificate that issued the leaf.
  [[nodiscard]] const Certificate& leaf_issuer() const { return certificates[1]; }
};

// Finds a path from `leaf` through some of `intermediates`, which need no trust, to one of
// `anchors`, and validates it: signatures, names, validity, basicConstraints, path length,
// keyUsage, extended key usage, name constraints, certificate policies as far as the path demands
// them, and no critical extension that OpenSSL does not know. Unless `options` allow it, the leaf
// must be no CA, and an anchor counts only as an issuer. Every issuer must be a CA. Signatures must
// be made with SHA-256, SHA-384, SHA-512 or Ed25519; the anchor's own signature is not looked at.
// An anchor need not be self-signed.
//
// Errors: certificate-untrusted when no path leads to an anchor, also because a signature on the
// way does not verify; certificate-expired and certificate-not-yet-valid for one that is not valid
// at `options.time`; certificate-refused for each other rule; limit-exceeded for more than
// kMaxIntermediates or kMaxCertificates anchors.
[[nodiscard]] Result<VerifiedPath> verify_path(const Certificate& leaf,
                                               std::span<const Certificate> intermediates,
                                               std::span<const Certificate> anchors,
                                               const PathOptions& options);

// Checks that every certificate of a verified path is valid at `time` as well. Errors:
// certificate-expired, certificate-not-yet-valid.
[[nodiscard]] Status check_validity(const VerifiedPath& path, Timestamp time);

}  // namespace assay::attestation::x509
