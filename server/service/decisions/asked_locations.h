// SPDX-License-Identifier: Apache-2.0
// For a caller without a pod: chooses at which of the caller's locations each model needs a report.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "schemas/core/clock.h"
#include "server/service/decisions/case_file.h"

namespace assay::server {

// Returns, for each model, the locations at which it needs a report, in the order of `locations`. A
// location is left out for a model only under two conditions. First, a manifest or placement of
// another model names the location, with a signature that counts at `now`. Second, no such manifest
// or placement of the model itself names the location. A model that would be left without any
// location needs a report at all of them. So every location needs a report of at least one model.
[[nodiscard]] std::vector<std::vector<std::string>> asked_locations(
    const std::vector<std::string>& locations, std::span<const CaseModel> models, Timestamp now);

}  // namespace assay::server
