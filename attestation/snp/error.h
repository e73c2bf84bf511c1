// SPDX-License-Identifier: Apache-2.0
// Errors of the verification of SEV-SNP evidence: an enumeration whose names appear verbatim in
// verdicts.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "attestation/appraisal/failure.h"

namespace assay::attestation::snp {

enum class SnpError : std::uint8_t {
#define ASSAY_SNP_ERROR(enumerator, name, meaning) enumerator,
#include "attestation/snp/errors.def"
#undef ASSAY_SNP_ERROR
};

// Returns the stable name, such as "REPORT_SIGNATURE".
[[nodiscard]] std::string_view name(SnpError error);
// Returns one line for people.
[[nodiscard]] std::string_view meaning(SnpError error);
// Returns the number of rows of the table, for tests.
[[nodiscard]] std::size_t snp_error_count();

// Refusals and results of this folder.
using Failure = appraisal::Failure<SnpError>;
template <typename T>
using Checked = std::expected<T, Failure>;
using Outcome = std::expected<void, Failure>;
using appraisal::code;
using appraisal::reject;

}  // namespace assay::attestation::snp
