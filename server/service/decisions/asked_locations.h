// SPDX-License-Identifier: Apache-2.0
// Chooses the locations at which each model needs a report (a node's signed account of the files
// that it read there), when a caller names several models and locations but no pod.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "server/service/decisions/case_file.h"

namespace assay::server {

// Returns, for each model, the locations at which the model needs a report, in the order of
// `locations`. A location is left out for a model if it belongs only to other models. A location
// belongs to a model if a manifest or placement (a statement that adds locations) of the model
// names the location and has a signature that counts at `now` (policy/evaluate.h). A model for
// which no location would be left needs a report at every location. Therefore every location needs
// a report about at least one model.
[[nodiscard]] std::vector<std::vector<std::string>> asked_locations(
    const std::vector<std::string>& locations, std::span<const CaseModel> models, Timestamp now);

}  // namespace assay::server
