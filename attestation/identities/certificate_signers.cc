// SPDX-License-Identifier: Apache-2.0
#include "attestation/identities/certificate_signers.h"

#include <algorithm>

#include "attestation/sigstore/verify.h"
#include "attestation/x509/extensions.h"
#include "attestation/x509/path.h"
#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

std::optional<SubjectKind> kind_of(sigstore::SubjectKind kind) {
  switch (kind) {
    case sigstore::SubjectKind::kEmail:
      return SubjectKind::kEmail;
    case sigstore::SubjectKind::kUri:
      return SubjectKind::kUri;
    default:
      return std::nullopt;
  }
}

// The first name of the leaf that the identity covers; nothing when there is none.
std::optional<std::string> covered_name(const x509::AlternativeNames& names,
                                        const CertificateSubject& subject) {
  const std::vector<std::string>& own = subject.kind == SubjectKind::kEmail ? names.emails
                                        : subject.kind == SubjectKind::kUri ? names.uris
                                                                            : names.dns;
  const auto found = std::ranges::find_if(
      own, [&](const std::string& name) { return covers(subject, subject.kind, name); });
  return found == own.end() ? std::nullopt : std::optional(*found);
}

// A certificate in a bundle, against one identity after the other.
class Signed {
 public:
  Signed(const Envelope& envelope, const sigstore::Bundle& bundle,
         const std::vector<x509::Certificate>& certificates, Timestamp now)
      : envelope_(envelope),
        bundle_(bundle),
        certificates_(certificates),
        key_(sha256(certificates.front().key_der())),
        now_(now) {}

  [[nodiscard]] const KeyId& key() const { return key_; }

  // Nothing when the identity does not cover the certificate.
  Result<std::optional<CertificateUse>> by(const CertificateIdentity& identity,
                                           const TrustedRoots& roots) {
    return identity.roots.empty() ? keyless(identity, roots) : issued(identity);
  }

 private:
  Result<std::optional<CertificateUse>> keyless(const CertificateIdentity& identity,
                                                const TrustedRoots& roots) {
    // Only names yet: verify_bundle() verifies them.
    const auto claimed = sigstore::identity_of(certificates_.front());
    if (!claimed || claimed->issuer != identity.issuer) {
      return std::nullopt;
    }
    const std::optional<SubjectKind> kind = kind_of(claimed->kind);
    if (!kind || !covers(identity.subject, *kind, claimed->subject)) {
      return std::nullopt;
    }
    const auto root = roots.find(identity.trusted_root);
    if (root == roots.end()) {
      return fail(ErrorCode::kNotFound, "the trusted root of the signer's identity is not known",
                  identity.trusted_root);
    }
    ASSAY_ASSIGN(const auto wanted,
                 sigstore::WantedIdentity::exactly(claimed->issuer, claimed->subject));
    const sigstore::VerifyOptions options{
        .signer = sigstore::Keyless{root->second, wanted}, .artifact = nullptr, .now = now_};
    ASSAY_ASSIGN(const auto verified, sigstore::verify_bundle(bundle_, options));
    if (!verified.identity || verified.times.empty()) {
      return fail(ErrorCode::kInternal, "a verified bundle names neither signer nor time");
    }
    const auto first = std::ranges::min_element(verified.times, {}, &sigstore::CountedTime::time);
    return std::optional(
        CertificateUse{verified.identity->issuer, verified.identity->subject, first->time, key_});
  }

  Result<std::optional<CertificateUse>> issued(const CertificateIdentity& identity) {
    ASSAY_ASSIGN(const auto names, x509::alternative_names(certificates_.front()));
    std::optional<std::string> name = covered_name(names, identity.subject);
    if (!name) {
      return std::nullopt;
    }
    std::vector<x509::Certificate> anchors;
    for (const Bytes& der : identity.roots) {
      ASSAY_ASSIGN(x509::Certificate anchor, x509::Certificate::from_der(der));
      anchors.push_back(std::move(anchor));
    }
    const auto path = x509::verify_path(certificates_.front(), std::span(certificates_).subspan(1),
                                        anchors, {.time = now_, .purpose = purpose()});
    if (!path) {
      return path.error().code == ErrorCode::kCertificateUntrusted
                 ? Result<std::optional<CertificateUse>>(std::nullopt)
                 : std::unexpected(path.error());
    }
    ASSAY_TRY(verify_signature(path->leaf()));
    return std::optional(
        CertificateUse{path->leaf_issuer().subject(), *std::move(name), now_, key_});
  }

  // A certificate that names purposes must name code signing: that of a TLS server makes nobody a
  // signer.
  [[nodiscard]] std::string_view purpose() const {
    constexpr std::string_view kExtendedKeyUsage = "2.5.29.37";
    return x509::extension_value(certificates_.front(), kExtendedKeyUsage) ? x509::kCodeSigning
                                                                           : x509::kAnyPurpose;
  }

  Status verify_signature(const x509::Certificate& leaf) {
    ASSAY_ASSIGN(const PublicKey key, leaf.public_key());
    return key.verify(pre_authentication_encoding(envelope_.payload_type, envelope_.payload),
                      envelope_.signatures.front().signature);
  }

  const Envelope& envelope_;
  const sigstore::Bundle& bundle_;
  const std::vector<x509::Certificate>& certificates_;
  KeyId key_;
  Timestamp now_;
};

// One signature is the word of one identity. Entries that give it to several would let one person
// count as many.
Status require_one_identity(std::span<const VerifiedSignature> signatures) {
  for (const VerifiedSignature& signature : signatures) {
    if (signature.key.identity != signatures.front().key.identity) {
      return fail(ErrorCode::kIdentityAmbiguous,
                  "the certificate is that of " + signatures.front().key.identity + " and of " +
                      signature.key.identity + ": give both entries one identity, or revoke one");
    }
  }
  return {};
}

}  // namespace

Result<std::vector<VerifiedSignature>> verify_certificates(const Envelope& envelope,
                                                           std::span<const TrustedKey> keys,
                                                           const TrustedRoots& roots,
                                                           Timestamp now) {
  std::vector<VerifiedSignature> verified;
  const auto has_certificate = [](const TrustedKey& key) { return key.certificate.has_value(); };
  if (envelope.bundle.empty() || std::ranges::none_of(keys, has_certificate)) {
    return verified;
  }
  ASSAY_ASSIGN(const sigstore::Bundle bundle, sigstore::parse_bundle(envelope.bundle));
  const auto* material = std::get_if<sigstore::CertificateMaterial>(&bundle.material);
  if (material == nullptr) {
    return verified;
  }
  Signed signature(envelope, bundle, material->certificates, now);
  // A key of the trust store signs as itself, and as nobody once it is revoked.
  if (std::ranges::any_of(keys, [&](const TrustedKey& key) { return key.id == signature.key(); })) {
    return verified;
  }
  for (const TrustedKey& key : keys) {
    const bool ended = key.revoked && !key.revoked->since;
    if (!key.certificate || ended) {
      continue;
    }
    ASSAY_ASSIGN(auto use, signature.by(*key.certificate, roots));
    if (use) {
      verified.push_back({key, *std::move(use)});
    }
  }
  ASSAY_TRY(require_one_identity(verified));
  return verified;
}

}  // namespace assay::attestation
