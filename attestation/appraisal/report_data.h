// SPDX-License-Identifier: Apache-2.0
// The 64 bytes that a guest puts into its report, and what a caller requires of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace assay::attestation::appraisal {

using ReportData = std::array<std::uint8_t, 64>;

// The required value. There is no default. A caller without a requirement must pass
// not_requested(), for which `report_data_bound` of the result is false.
class ReportDataExpectation {
 public:
  [[nodiscard]] static ReportDataExpectation exactly(const ReportData& value) {
    return ReportDataExpectation(value);
  }
  [[nodiscard]] static ReportDataExpectation not_requested() {
    return ReportDataExpectation(std::nullopt);
  }
  [[nodiscard]] const std::optional<ReportData>& value() const { return value_; }

 private:
  explicit ReportDataExpectation(std::optional<ReportData> value) : value_(value) {}
  std::optional<ReportData> value_;
};

}  // namespace assay::attestation::appraisal
