// SPDX-License-Identifier: Apache-2.0
// The hash algorithms of CycloneDX 1.6 (definition `hash-alg` of its schema) and their names in
// in-toto's DigestSet.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::bom {

// Digests of one thing: algorithm, as in-toto spells it, to lowercase hex.
using Digests = std::map<std::string, std::string>;

// Reads a list of hashes {"alg", "content"}. Hex in capitals is read as lowercase. Errors:
// schema-violation for another form; invalid-digest for an algorithm that CycloneDX does not have,
// a value of another length, and an algorithm that is there twice.
[[nodiscard]] Result<Digests> read_hashes(const Json& list);

// Returns those of `digests` whose algorithm CycloneDX has, as a list of hashes.
[[nodiscard]] Json hashes_of(const Digests& digests);
// Returns true when CycloneDX has the algorithm, and the value has its length.
[[nodiscard]] bool has_hash_form(std::string_view algorithm, std::string_view value);

// Returns the digest by which a thing is called: an assay-tree root before others, then the longest
// strong one. "algorithm:value"; empty when no digest is strong.
[[nodiscard]] std::string main_digest(const Digests& digests);
// Returns true when both have a strong digest with the same value, and no algorithm with two.
[[nodiscard]] bool same_thing(const Digests& a, const Digests& b);
// Returns true when an algorithm has one value here and another there.
[[nodiscard]] bool disagree(const Digests& a, const Digests& b);

}  // namespace assay::bom
