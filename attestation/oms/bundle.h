// SPDX-License-Identifier: Apache-2.0
// The file that carries an OMS signature: a Sigstore bundle v0.3 as JSON, with a DSSE envelope of
// one signature (OMS v1.0 section 4; sigstore/protobuf-specs, sigstore_bundle.proto).
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attestation/dsse.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::attestation::oms {

inline constexpr std::string_view kMediaType = "application/vnd.dev.sigstore.bundle.v0.3+json";
// Bytes of a bundle: the longest statement in base64, and what proves its signature.
inline constexpr std::size_t kMaxBundleBytes = std::size_t{60} << 20;
inline constexpr std::size_t kMaxChain = 16;  // certificates

// How the signature is proven (section 4.1). None of this is trusted by itself.
struct KeyMaterial {
  std::string hint;  // hex of SHA-256 over the PEM of the key; empty in bundles before 1.1
};
struct CertificateMaterial {
  std::vector<Bytes> chain;  // DER; the first one is that of the signer
};
struct SigstoreMaterial {
  Bytes certificate;  // DER, of Fulcio; the whole bundle is what attestation/sigstore reads
};
using Material = std::variant<KeyMaterial, CertificateMaterial, SigstoreMaterial>;
// Returns "key", "certificate" or "sigstore".
[[nodiscard]] std::string_view method_of(const Material& material);

struct Bundle {
  Material material;
  Envelope envelope;  // with exactly one signature
};

// Parses a bundle. Members are in lowerCamelCase, and none is unknown; base64 is canonical. `keyid`
// may be absent, null or any text and is not used. Verifies no signature and does not look into the
// payload. Errors: those of parse_json(); unknown-member; schema-violation for another media type
// and for no or several materials; payload-type-unknown; signature-missing; schema-violation for a
// second signature; invalid-encoding; limit-exceeded.
[[nodiscard]] Result<Bundle> parse_bundle(ByteView json);

// Returns the bundle as JSON. Errors: invalid-parameter for SigstoreMaterial, which is not made
// here.
[[nodiscard]] Result<std::string> encode_bundle(const Bundle& bundle);

}  // namespace assay::attestation::oms
