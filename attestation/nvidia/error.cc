// SPDX-License-Identifier: Apache-2.0
// Names of the refusals.
#include "attestation/nvidia/error.h"

#include <array>

namespace assay::attestation::nvidia {
namespace {

struct Row {
  std::string_view name;
  std::string_view meaning;
};

constexpr auto kRows = std::to_array<Row>({
#define ASSAY_NVIDIA_ERROR(enumerator, name, meaning) {name, meaning},
#include "attestation/nvidia/errors.def"
#undef ASSAY_NVIDIA_ERROR
});

}  // namespace

std::string_view name(NvidiaError error) { return kRows[std::to_underlying(error)].name; }
std::string_view meaning(NvidiaError error) { return kRows[std::to_underlying(error)].meaning; }
std::size_t nvidia_error_count() { return kRows.size(); }

}  // namespace assay::attestation::nvidia
