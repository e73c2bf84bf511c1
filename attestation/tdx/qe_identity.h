// SPDX-License-Identifier: Apache-2.0
// Identity of the TD quoting enclave, version 2: the enclave that may sign quotes, and its security
// versions. Intel PCS API v4, "Get TDX QE Identity". Callers must verify the signature of a QE
// identity before they parse it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "attestation/tdx/error.h"
#include "attestation/tdx/quote_parse.h"
#include "attestation/tdx/tcb_info.h"

namespace assay::attestation::tdx {

struct QeIdentity {
  Timestamp issued;
  Timestamp next_update;
  std::uint32_t evaluation_number = 0;
  std::array<std::uint8_t, 4> miscselect{};
  std::array<std::uint8_t, 4> miscselect_mask{};
  std::array<std::uint8_t, 16> attributes{};
  std::array<std::uint8_t, 16> attributes_mask{};
  std::array<std::uint8_t, 32> mrsigner{};
  std::uint16_t isvprodid = 0;
  std::vector<ComponentLevel> levels;  // highest first, never empty
};

// Parses the exact bytes that were signed. Errors: QE_IDENTITY_FORMAT, QE_IDENTITY_ID_MISMATCH,
// QE_IDENTITY_VERSION.
[[nodiscard]] Checked<QeIdentity> parse_qe_identity(std::string_view text);

// Checks that `report` is about the enclave that `identity` describes. A debug enclave fails,
// because its attributes contain the debug bit. Errors: QE_MISCSELECT_MISMATCH,
// QE_ATTRIBUTES_MISMATCH, QE_MRSIGNER_MISMATCH, QE_ISVPRODID_MISMATCH.
[[nodiscard]] Outcome check_qe(const QeIdentity& identity, const QeReport& report);

}  // namespace assay::attestation::tdx
