// SPDX-License-Identifier: Apache-2.0
// Bundles of tests: those that the project carries (tests/vectors/sigstore), and folders of the
// suite sigstore-conformance.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "attestation/sigstore/verify.h"
#include "schemas/core/json.h"
#include "tests/support/vectors.h"

namespace assay::test {

inline const std::string kBeacon =
    "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/"
    "workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
inline const std::string kBeaconIssuer = "https://token.actions.githubusercontent.com";

// What one verification is given. Members are texts of files, so that a test can change them.
struct BundleCase {
  std::string bundle;
  std::string root;
  std::string artifact;
  std::string identity = kBeacon;
  std::string issuer = kBeaconIssuer;
  std::string key;  // PEM; empty: keyless
  Timestamp now = *parse_rfc3339("2026-12-01T00:00:00Z");
};

// Verifies one case from its texts to the result.
inline Result<attestation::sigstore::VerifiedBundle> verify(const BundleCase& given) {
  namespace sigstore = attestation::sigstore;
  ASSAY_ASSIGN(const sigstore::TrustedRoot root,
               sigstore::parse_trusted_root(as_bytes(given.root)));
  ASSAY_ASSIGN(const sigstore::Bundle bundle, sigstore::parse_bundle(as_bytes(given.bundle)));
  const sigstore::Artifact artifact = sigstore::Artifact::of(as_bytes(given.artifact));
  if (!given.key.empty()) {
    ASSAY_ASSIGN(const attestation::PublicKey key, attestation::PublicKey::from_pem(given.key));
    const sigstore::ManagedKey signer{key, sigstore::KeyEvidence::kRequired, &root};
    return sigstore::verify_bundle(bundle, {signer, &artifact, given.now});
  }
  ASSAY_ASSIGN(const sigstore::WantedIdentity identity,
               sigstore::WantedIdentity::exactly(given.issuer, given.identity));
  const sigstore::Keyless signer{root, identity};
  return sigstore::verify_bundle(bundle, {signer, &artifact, given.now});
}

inline std::string sigstore_file(const std::string& name) {
  return read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "tests" / "vectors" / "sigstore" /
                   name);
}

// A bundle that the project carries: "message-v0.1", "message-v0.3", "intoto-v0.2",
// "rekor2-message", "rekor2-dsse" or "managed-key".
inline BundleCase carried(const std::string& name) {
  BundleCase given;
  given.bundle = sigstore_file(name + ".bundle.json");
  const bool is_public = name.starts_with("message-");
  const bool is_custom = name == "intoto-v0.2";
  given.root = sigstore_file(is_public   ? "public-good.trusted-root.json"
                             : is_custom ? "custom.trusted-root.json"
                                         : "staging.trusted-root.json");
  given.artifact = sigstore_file(is_custom ? "d.txt" : "a.txt");
  given.key = name == "managed-key" ? sigstore_file("managed-key.pub") : "";
  return given;
}

inline constexpr std::array kCarried = {"message-v0.1",   "message-v0.3", "intoto-v0.2",
                                        "rekor2-message", "rekor2-dsse",  "managed-key"};

// A folder of the suite, as its README.md says.
inline BundleCase suite_case(const std::filesystem::path& folder) {
  const auto text = [&](const char* name, const std::string& otherwise) {
    return std::filesystem::exists(folder / name) ? read_file(folder / name) : otherwise;
  };
  BundleCase given;
  given.bundle = read_file(folder / "bundle.sigstore.json");
  given.root = text("trusted_root.json", sigstore_file("public-good.trusted-root.json"));
  given.artifact = std::filesystem::exists(folder / "artifact")
                       ? read_file(folder / "artifact")
                       : read_file(folder.parent_path() / "a.txt");
  given.identity = text("identity", kBeacon);
  given.issuer = text("issuer", kBeaconIssuer);
  while (given.identity.ends_with('\n')) {
    given.identity.pop_back();
  }
  while (given.issuer.ends_with('\n')) {
    given.issuer.pop_back();
  }
  given.key = text("key.pub", "");
  return given;
}

}  // namespace assay::test
