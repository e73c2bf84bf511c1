// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/error.h"

#include <array>

namespace assay::attestation::snp {
namespace {

struct Row {
  std::string_view name;
  std::string_view meaning;
};

constexpr auto kRows = std::to_array<Row>({
#define ASSAY_SNP_ERROR(enumerator, name, meaning) {name, meaning},
#include "attestation/snp/errors.def"
#undef ASSAY_SNP_ERROR
});

}  // namespace

std::string_view name(SnpError error) { return kRows[std::to_underlying(error)].name; }
std::string_view meaning(SnpError error) { return kRows[std::to_underlying(error)].meaning; }
std::size_t snp_error_count() { return kRows.size(); }

}  // namespace assay::attestation::snp
