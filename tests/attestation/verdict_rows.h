// SPDX-License-Identifier: Apache-2.0
// Rows of the table of verdicts (verdict_table_test.cc).
#pragma once

#include <string>
#include <vector>

namespace assay::attestation::verdicts {

struct VerdictRow {
  std::string vector;
  std::string expected;
  std::string got;
};
using VerdictRows = std::vector<VerdictRow>;

// COSE_Sign1 of the COSE working group (tests/vectors/cose): "ok" for a signature that verifies.
[[nodiscard]] VerdictRows cose_messages();
// CoRIMs of another project (tests/vectors/corim).
[[nodiscard]] VerdictRows foreign_reference_documents();
// Own documents of reference values, signed and changed. Their signatures are made anew each time.
[[nodiscard]] VerdictRows own_reference_documents();

}  // namespace assay::attestation::verdicts
