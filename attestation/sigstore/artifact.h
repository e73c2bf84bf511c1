// SPDX-License-Identifier: Apache-2.0
// What a signature is about, as a verifier needs it.
#pragma once

#include <optional>

#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"

namespace assay::attestation::sigstore {

// An artifact by its digests. SHA-256 is enough for most signatures; keys on P-384 need SHA-384,
// and Ed25519 needs the bytes. A view: the bytes must outlive it.
struct Artifact {
  Digest sha256;
  std::optional<Digest> sha384;
  std::optional<ByteView> bytes;

  // Computes both digests.
  [[nodiscard]] static Artifact of(ByteView bytes);
  // Returns the digest by `algorithm`; nothing when it is not known.
  [[nodiscard]] std::optional<Digest> digest(HashAlgorithm algorithm) const {
    return algorithm == HashAlgorithm::kSha256 ? sha256 : sha384;
  }
};

}  // namespace assay::attestation::sigstore
