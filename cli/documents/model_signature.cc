// SPDX-License-Identifier: Apache-2.0
#include "cli/documents/model_signature.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/documents/keys.h"
#include "client/files.h"

namespace assay::cli {

namespace {

constexpr std::uint64_t kMaxKeyFileBytes = 65536;

Result<oms::Trust> trust_key(const std::string& path) {
  ASSAY_ASSIGN(const Bytes pem, client::read_file(path, kMaxKeyFileBytes));
  Result<attestation::PublicKey> key = attestation::PublicKey::from_pem(as_text(pem));
  if (!key) {
    return std::unexpected(about_public_key(std::move(key).error(), as_text(pem), path));
  }
  return oms::TrustedPublicKey{*std::move(key)};
}

Result<Timestamp> time_of(const ModelTrustFlags& flags, const Clock& clock) {
  return flags.at.empty() ? Result<Timestamp>(clock.now()) : parse_rfc3339(flags.at);
}

Result<oms::Trust> trust_roots(const ModelTrustFlags& flags, const Clock& clock) {
  oms::TrustedRoots trust;
  ASSAY_ASSIGN(trust.at, time_of(flags, clock));
  for (const std::string& path : flags.roots) {
    ASSAY_ASSIGN(auto certificates, load_certificates(path));
    std::ranges::move(certificates, std::back_inserter(trust.roots));
  }
  return trust;
}

Result<oms::Trust> trust_identity(const ModelTrustFlags& flags, const Clock& clock) {
  if (flags.identity.empty() || flags.issuer.empty() || flags.trusted_root.empty() ||
      !flags.at.empty()) {
    return fail(ErrorCode::kUsage,
                "A signature through sigstore needs --certificate-identity, "
                "--certificate-oidc-issuer and --trusted-root, and proves its own time without "
                "--at");
  }
  ASSAY_ASSIGN(const Bytes json,
               client::read_file(flags.trusted_root, attestation::sigstore::kMaxTrustedRootBytes));
  ASSAY_ASSIGN(auto root, attestation::sigstore::parse_trusted_root(json));
  return oms::TrustedIdentity{flags.identity, flags.issuer, std::move(root), clock.now()};
}

}  // namespace

Result<std::vector<attestation::x509::Certificate>> load_certificates(const std::string& path) {
  ASSAY_ASSIGN(const Bytes file, client::read_file(path, attestation::x509::kMaxCertificateFile));
  auto certificates = attestation::x509::parse_certificates(file);
  if (!certificates && certificates.error().where.empty()) {
    return fail(certificates.error().code, certificates.error().detail, path);
  }
  return certificates;
}

void add_model_trust_options(const Command& verb, ModelTrustFlags& flags) {
  verb.option("--key", flags.key, "FILE", "public key (PEM) that is trusted to have signed");
  verb.option("--certificate-root", flags.roots, "FILE",
              "certificates (PEM) that the signer's must chain to; may be given again");
  verb.option("--certificate-identity", flags.identity, "TEXT",
              "who signed through sigstore: the SAN of the certificate, exactly");
  verb.option("--certificate-oidc-issuer", flags.issuer, "URL",
              "who vouched for that identity, exactly");
  verb.option("--trusted-root", flags.trusted_root, "FILE", "trusted_root.json of sigstore");
  verb.option("--at", flags.at, "TIME",
              "when the certificates must be valid, RFC 3339 (default: now, since nothing in the "
              "signature proves its time)");
  verb.flag("--accept-v02", flags.accept_v02,
            "also accept signatures of model_signing 0.2, which bind less");
}

Result<oms::Trust> load_model_trust(const ModelTrustFlags& flags, const Clock& clock) {
  const bool keyless =
      !flags.identity.empty() || !flags.issuer.empty() || !flags.trusted_root.empty();
  if ((flags.key.empty() ? 0 : 1) + (flags.roots.empty() ? 0 : 1) + (keyless ? 1 : 0) != 1) {
    return fail(ErrorCode::kUsage,
                "Say whose signature counts: give --key, or --certificate-root, or "
                "--certificate-identity with --certificate-oidc-issuer and --trusted-root");
  }
  if (!flags.key.empty()) {
    return trust_key(flags.key);
  }
  return keyless ? trust_identity(flags, clock) : trust_roots(flags, clock);
}

Result<ModelSignature> verify_model_signature(ByteView json, const oms::Trust& trust,
                                              bool accept_v02) {
  ASSAY_ASSIGN(oms::Bundle bundle, oms::parse_bundle(json));
  ASSAY_ASSIGN(oms::Signed by,
               oms::verify_bundle(bundle, json, trust,
                                  accept_v02 ? oms::OldForm::kAccepted : oms::OldForm::kRefused));
  return ModelSignature{std::move(by), std::move(bundle.envelope)};
}

Json signed_json(const oms::Signed& by) {
  Json json = {{"method", by.method}, {"signer", by.signer}};
  if (!by.issuer.empty()) {
    json["issuer"] = by.issuer;
  }
  if (by.at) {
    json["at"] = to_rfc3339(*by.at);
  }
  if (!by.statement.old_form) {
    json["root"] = oms::oms_root(by.statement.resources).text();
  }
  return json;
}

}  // namespace assay::cli
