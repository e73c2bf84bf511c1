// SPDX-License-Identifier: Apache-2.0
// Sigstore bundles: the input is a mutation of a bundle, verified with the key of
// tests/fuzz/corpus/sigstore_bundle/managed-key. What verifies has the signature of that bundle.
#include <cstdlib>

#include "attestation/sigstore/verify.h"

namespace {

using namespace assay;
using attestation::PublicKey;
namespace sigstore = attestation::sigstore;

constexpr const char* kKey =
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAExRRST79+PsrRBnGAI4cMu6Omz2JhfwlMW+gIutNKVRaMyS4rQKvgngc5p8"
    "UbLj55pVHhIoAxi/SRgURZI0J3Xw==";
// SHA-256 of the artifact, tests/vectors/sigstore/a.txt.
constexpr const char* kArtifact =
    "a0cfc71271d6e278e57cd332ff957c3f7043fdda354c4cbb190a30d56efa01bf";
constexpr const char* kSignature =
    "MEUCIHMEx9zaO/w0VL4noJKU3GuDRssrIjq1noNrBKL6z70GAiEAn7kUe3W8h6dPbe4xGGbVnHi+RfijQ6TT20Glibct+A"
    "Q=";

const PublicKey& key() {
  static const PublicKey parsed = PublicKey::from_der(base64_decode(kKey).value()).value();
  return parsed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bundle = sigstore::parse_bundle(ByteView(data, size));
  if (!bundle) {
    return 0;
  }
  const sigstore::Artifact artifact{Digest::from_hex(HashAlgorithm::kSha256, kArtifact).value(),
                                    std::nullopt, std::nullopt};
  const sigstore::ManagedKey signer{key(), sigstore::KeyEvidence::kNotLooked, nullptr};
  const auto verified = sigstore::verify_bundle(
      *bundle, {signer, &artifact, parse_rfc3339("2026-12-01T00:00:00Z").value()});
  if (verified && base64_encode(bundle->signature()) != kSignature) {
    std::abort();
  }
  return 0;
}
