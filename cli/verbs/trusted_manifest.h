// SPDX-License-Identifier: Apache-2.0
// A signed manifest that the user names, and what verifying a model against it finds.
#pragma once

#include <string>
#include <vector>

#include "attestation/dsse.h"
#include "cli/context.h"
#include "cli/documents/keys.h"
#include "gpu_hash/artifact_verify.h"
#include "schemas/manifest.h"

namespace assay::cli {

struct ManifestFlags {
  std::string envelope;  // file with the signed manifest
  std::string artifact;  // id of the artifact that it must be about; empty: any
  TrustFlags trust;
};

// Everything that is known before a byte of the model is read.
struct TrustedManifest {
  Manifest manifest;
  ArtifactId artifact;
  StatementId id;
  std::vector<attestation::VerifiedSignature> signers;
};

// Reads the manifest and checks its signatures. Sets `refused` when the error says that the
// manifest is not what it claims to be: then the answer is no.
[[nodiscard]] Result<TrustedManifest> open_manifest(const Context& context,
                                                    const ManifestFlags& flags, bool& refused);

// Return a difference as {"kind","file","ranges","detail"} with "tensor", and as one line of text.
[[nodiscard]] Json difference_json(const gpu_hash::Difference& difference);
[[nodiscard]] std::string difference_line(const gpu_hash::Difference& difference);

// Add to the JSON answer, or print, what verifying a whole model found: differences, read
// protection, bytes, seconds and device. The JSON has an `error` when there are differences.
void add_verified(Json& json, const gpu_hash::Verified& verified);
void print_verified(const Context& context, const gpu_hash::Verified& verified);

// Returns whether an error of verifying a model says that something lies in the model which no
// manifest covers. That is a difference, not trouble with looking.
[[nodiscard]] bool is_difference(ErrorCode code);

}  // namespace assay::cli
