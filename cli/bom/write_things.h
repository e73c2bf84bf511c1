// SPDX-License-Identifier: Apache-2.0
// The components of a bill of materials, and the parts of the model's own component.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/bom/trace.h"
#include "schemas/core/json.h"

namespace assay::bom {

// Adds a property with a name that begins with "assay:".
void add_property(Json& properties, const std::string& name, const std::string& value);

// Returns a bom-ref for each thing, in the order of the trace: its main digest where nothing else
// has it, otherwise "thing:N". All differ.
[[nodiscard]] std::vector<std::string> refs_of(const Trace& trace);

// Returns the component of a thing, with group, name, hashes, licences and properties.
[[nodiscard]] Json component_of(const Thing& thing, const std::string& ref);

// Returns what manifests, releases and placements say of the model, to be added to its component:
// "components" (files), "externalReferences" (locations), "version" and "properties".
[[nodiscard]] Json parts_of_model(const Thing& model, std::span<const BomStatement> statements);

// Returns the model card: datasets that went in, and metrics of evaluations.
[[nodiscard]] Json model_card(const Trace& trace, const std::vector<std::string>& refs,
                              std::span<const BomStatement> statements);

// Returns the "declarations": who says what about which thing. A claim for each statement about
// each thing, evidence for each statement, an assessor and an attestation for each identity.
[[nodiscard]] Json declarations(const Trace& trace, const std::vector<std::string>& refs,
                                std::span<const BomStatement> statements);

}  // namespace assay::bom
