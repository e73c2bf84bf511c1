// SPDX-License-Identifier: Apache-2.0
// Which measurement of evidence a measurement of a CoRIM is about (docs/reference-values.md).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attestation/corim/corim.h"
#include "schemas/reference_values.h"

namespace assay::attestation::corim {

// One type of evidence: the class of its environment, and its measurements.
struct Mapping {
  std::string_view evidence_type;
  std::span<const std::string_view> vendors;  // ways in which documents write the class's vendor
  std::string_view model;
  std::span<const std::string_view> measurements;  // by these texts as mkey
  std::size_t bytes;                               // of each value; SHA-384
  std::string_view launch;  // measurement of what is loaded first: Intel's tee.mrtee
};

// Returns the mapping of an evidence type; null when there is none.
[[nodiscard]] const Mapping* mapping_of(std::string_view evidence_type);
// Returns the mapping for the class of `environment`. Errors: reference-class-mismatch.
[[nodiscard]] Result<const Mapping*> mapping_for(const Environment& environment);

// Returns the values of a triple by measurement; several of one measurement are alternatives.
// Errors: reference-unmapped for whatever evidence is not compared with, and for a measurement that
// the triple gives twice.
[[nodiscard]] Result<std::map<std::string, std::vector<std::string>>> values_of(
    const Mapping& mapping, const ReferenceTriple& triple);

// Checks values of the JSON form. Errors: reference-unmapped; schema-violation for a value of
// another length.
[[nodiscard]] Status check_values(const Mapping& mapping,
                                  const std::map<std::string, std::vector<std::string>>& values);

}  // namespace assay::attestation::corim
