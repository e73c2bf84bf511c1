// SPDX-License-Identifier: Apache-2.0
// Signatures of models that other tools made (attestation/oms/verify.h): options that say whom the
// user trusts, and reading the file.
#pragma once

#include <string>
#include <vector>

#include "attestation/oms/verify.h"
#include "cli/command.h"
#include "schemas/core/clock.h"

namespace assay::cli {

namespace oms = attestation::oms;

struct ModelTrustFlags {
  std::string key;                 // --key
  std::vector<std::string> roots;  // --certificate-root
  std::string identity;            // --certificate-identity
  std::string issuer;              // --certificate-oidc-issuer
  std::string trusted_root;        // --trusted-root
  std::string at;                  // --at; empty: now
  bool accept_v02 = false;
  bool operator==(const ModelTrustFlags&) const = default;
};

void add_model_trust_options(const Command& verb, ModelTrustFlags& flags);

// Returns whom the flags trust. Errors: usage unless they name exactly one: a key, roots, or an
// identity with its issuer and trusted root; those of reading the files.
[[nodiscard]] Result<oms::Trust> load_model_trust(const ModelTrustFlags& flags, const Clock& clock);

// Reads the certificates in a file, in PEM or DER. Errors: those of parse_certificates()
// (attestation/x509/certificate.h).
[[nodiscard]] Result<std::vector<attestation::x509::Certificate>> load_certificates(
    const std::string& path);

// A bundle whose signature was verified.
struct ModelSignature {
  oms::Signed by;
  attestation::Envelope envelope;
};
// Verifies a bundle that was read. Errors: those of parse_bundle() and verify_bundle().
[[nodiscard]] Result<ModelSignature> verify_model_signature(ByteView bundle,
                                                            const oms::Trust& trust,
                                                            bool accept_v02);

// Returns {"method","signer","issuer"?,"at"?,"root"?}.
[[nodiscard]] Json signed_json(const oms::Signed& by);

}  // namespace assay::cli
