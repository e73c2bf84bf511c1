// SPDX-License-Identifier: Apache-2.0
// Collateral in files: nine texts of Intel's, or a CRL of AMD's.
#pragma once

#include <string>
#include <string_view>

#include "attestation/collateral_set.h"
#include "schemas/endorsements.h"

namespace assay::cli {

// Reads the bundle in a file: nine texts, alone or as `export` writes them; or a CRL of AMD's in
// DER. Errors: those of reading the file and of its JSON.
[[nodiscard]] Result<Json> read_bundle(const std::string& path);

// Reads "TYPE=FILE": a root certificate (DER or PEM) for this type of evidence. Errors: usage;
// those of reading and parsing it.
[[nodiscard]] Result<EndorsedBytes> read_typed_root(const std::string& text);

// Returns the type of evidence that a bundle is for.
[[nodiscard]] std::string_view bundle_type(const Json& bundle);

// Authenticates a bundle under the vendor's roots, and the root in the file `root` unless that is
// empty. Errors: those of reading the root; those of authenticate_collateral().
[[nodiscard]] Result<attestation::CollateralSetPtr> open_set(const Json& bundle,
                                                             const std::string& root);

}  // namespace assay::cli
