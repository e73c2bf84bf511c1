// SPDX-License-Identifier: Apache-2.0
// Names and digests of resources, one by one and together. Internal to this folder. Section numbers
// are those of OMS v1.0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attestation/oms/statement.h"

namespace assay::attestation::oms {

// Checks a relative path (section 6.1.2): kMaxNameBytes at most, and check_path()
// (schemas/core/artifact.h). Errors: invalid-path.
[[nodiscard]] Status check_name(std::string_view path, const std::string& where);

// Reads the name of a resource: a path, with shards "path:begin:end" in decimal without leading
// zeros, split at the last two colons (section 6.4). The digest is left empty. Errors:
// invalid-path; schema-violation for a range that is empty or not a shard of this size.
[[nodiscard]] Result<Resource> read_name(const std::string& name, const Serialization& how,
                                         const std::string& where);

// Reads lowercase hex of the size of `hash`. Errors: invalid-digest.
[[nodiscard]] Result<Bytes> read_digest(std::string_view hex, FlatHash hash,
                                        const std::string& where);

// Returns how model_signing names the algorithm of a shard: "sha256-sharded-1000000000". Empty for
// whole files.
[[nodiscard]] std::string shard_algorithm(const Serialization& how);

// Checks what resources must be together; parse_oms_statement() says what that is.
[[nodiscard]] Status check_resources(const Statement& statement);

}  // namespace assay::attestation::oms
