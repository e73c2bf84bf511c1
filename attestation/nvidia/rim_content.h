// SPDX-License-Identifier: Apache-2.0
// The measurements in the signed bytes of a RIM. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "attestation/nvidia/error.h"
#include "attestation/nvidia/rim.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::nvidia {

struct RimContent {
  std::string edition;          // "GPU" or "SWITCH"
  std::string product;          // "GH100"
  std::string version;          // colloquialVersion
  std::vector<Golden> goldens;  // active ones, by increasing index
};

// Reads the canonical bytes that a signature covers. Each resource "Measurement" has an index of
// its own, and as many values, Hash0 and on, as it says, each as long as it says. Errors:
// RIM_CONTENT, RIM_FORMAT, INPUT_TOO_LARGE.
[[nodiscard]] Checked<RimContent> read_content(ByteView canonical);

}  // namespace assay::attestation::nvidia
