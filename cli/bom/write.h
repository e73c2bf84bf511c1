// SPDX-License-Identifier: Apache-2.0
// Writes what signed statements say about a model as a CycloneDX 1.6 bill of materials
// (https://cyclonedx.org/docs/1.6/json/). docs/bom.md says which field comes from where. What
// CycloneDX has no field for is a property whose name begins with "assay:".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/bom/statements.h"
#include "schemas/core/clock.h"
#include "schemas/core/json.h"

namespace assay::bom {

struct BomRequest {
  ArtifactId artifact;
  std::string name;          // of the model; statements count that call it so
  Timestamp at;              // metadata.timestamp
  std::string tool_version;  // of this program
  std::string serial{};      // UUID; empty: made from the content
  // Where the statements come from, for metadata.properties: "assay:log-tree-size" and the like.
  std::vector<std::pair<std::string, std::string>> source{};
  std::vector<LeftOut> left_out{};
};

// Most files of the model that are listed; of more, their number alone is said.
inline constexpr std::size_t kMaxBomFiles = 10000;

// Returns the document. The same request and statements give the same bytes, whatever the order of
// the statements. Errors: those of trace(); usage for a serial number that is no UUID.
[[nodiscard]] Result<Json> write_bom(const BomRequest& request,
                                     std::vector<BomStatement> statements);

}  // namespace assay::bom
