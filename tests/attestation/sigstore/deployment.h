// SPDX-License-Identifier: Apache-2.0
// A sigstore deployment of the tests: authorities, logs and a signer whose keys the tests have, so
// that a bundle can be wrong in one thing and right in all others. Written from the specifications,
// without the code that is tested.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schemas/core/json.h"
#include "tests/attestation/sigstore/suite.h"
#include "tests/attestation/x509/test_pki.h"

namespace assay::test {

// How a timestamp is made.
struct StampRecipe {
  std::string time = "2026-03-01T12:00:05Z";
  std::string message;          // instead of the bytes of the signature
  const char* hash = "SHA256";  // of the imprint
  const char* signature_hash = "SHA256";
  bool with_certificate = true;
  bool by_another = false;  // by an authority that the root does not name
};

// How a certificate log vouches.
struct SctRecipe {
  bool is_there = true;
  std::string time = "2026-03-01T12:00:00Z";
  bool by_another = false;  // by a log that the root does not name
  bool is_broken = false;
};

// How a bundle is made. The default is good: version 0.3, message signature, Rekor v1.
struct Recipe {
  std::string media_type = "application/vnd.dev.sigstore.bundle.v0.3+json";
  std::string artifact = "an artifact\n";
  CertificateSpec leaf;
  std::vector<SctRecipe> scts = {SctRecipe{}};
  bool as_chain = false;
  bool with_intermediate = false;  // in the chain of the bundle
  bool managed = false;            // with a key in place of the certificate
  std::optional<Json> statement;   // an envelope with this payload
  std::string payload_type = "application/vnd.in-toto+json";
  std::string kind = "hashedrekord";
  std::string version = "0.0.1";
  std::string integrated = "2026-03-01T12:00:06Z";
  bool with_promise = true;
  bool with_proof = true;
  std::string origin = "rekor.example - 7";
  std::vector<StampRecipe> stamps;

  Recipe();
};

// What a statement about `artifact` says.
[[nodiscard]] Json statement_about(const std::string& artifact);

// A recipe for Rekor v2 with one timestamp.
[[nodiscard]] Recipe rekor2();
// A recipe for an envelope, logged as `kind` of `version`.
[[nodiscard]] Recipe envelope(const std::string& kind, const std::string& version);

[[nodiscard]] Json deployment_root();
[[nodiscard]] Json make_bundle(const Recipe& recipe);
// The case of a recipe: identity "signer@example.com" of issuer "https://issuer.example".
[[nodiscard]] BundleCase made(const Recipe& recipe);
// PEM of the managed key.
[[nodiscard]] std::string managed_key();

}  // namespace assay::test
