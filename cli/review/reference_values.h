// SPDX-License-Identifier: Apache-2.0
// Documents of reference values in words, and the difference between one and what is in force.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "attestation/corim/reference_document.h"
#include "schemas/core/json.h"

namespace assay::cli {

// Returns the tags of a document as GET /v1/trust shows tags, for the appraisal of this name; with
// "form" and, when there are any, "replaces" and "ignored".
[[nodiscard]] Json tags_json(const attestation::corim::ReferenceDocument& document,
                             const std::string& appraisal);

// Returns the document in full, one fact a line.
[[nodiscard]] std::vector<std::string> describe_references(
    const attestation::corim::ReferenceDocument& document);

// One measurement whose values change.
struct ReferenceChange {
  std::string tag_id;
  std::string measurement;
  std::vector<std::string> added;    // values, ascending
  std::vector<std::string> removed;  // values, ascending
  bool newly_constrained = false;    // until now every value was accepted
};

// Compares the tags of a document with those in force, both as tags_json() has them. `constrained`
// are the measurements that are constrained already, by whatever.
[[nodiscard]] std::vector<ReferenceChange> compare_references(
    const Json& tags, const Json& in_force, const std::vector<std::string>& constrained);

// Returns the measurements that the appraisal `name` constrains, as far as the answer of GET
// /v1/trust says.
[[nodiscard]] std::vector<std::string> constrained_in(const Json& trust, const std::string& name);

}  // namespace assay::cli
