// SPDX-License-Identifier: Apache-2.0
#include "attestation/tdx/error.h"

#include <array>

namespace assay::attestation::tdx {
namespace {

struct Row {
  std::string_view name;
  std::string_view meaning;
};

constexpr auto kRows = std::to_array<Row>({
#define ASSAY_TDX_ERROR(enumerator, name, meaning) {name, meaning},
#include "attestation/tdx/errors.def"
#undef ASSAY_TDX_ERROR
});

}  // namespace

std::string_view name(TdxError error) { return kRows[std::to_underlying(error)].name; }
std::string_view meaning(TdxError error) { return kRows[std::to_underlying(error)].meaning; }
std::size_t tdx_error_count() { return kRows.size(); }

}  // namespace assay::attestation::tdx
